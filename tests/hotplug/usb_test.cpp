// Checks USB devices that appear, disappear and swap ports: cases 11 and 12 of the conformance list, by
// uevents.

#include <doctest/doctest.h>

#include <filesystem>

#include "hotplug/made_machine.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kSerial = "example.com/serial";
const std::string kDongles =
    "- name: " + kSerial + "\n  groups: [{usb: [{vendor: 0x1a86, product: \"7523\", nodes: [tty]}]}]\n";

std::string port_path(const std::string& port) { return "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + port; }

std::string tty_path(const std::string& port, const std::string& tty) {
  return port_path(port) + "/" + port + ":1.0/" + tty + "/tty/" + tty;
}

// Adds a serial adapter: the device, its interface and its tty.
void plug_in(const MadeMachine& machine, const std::string& port, const std::string& serial,
             const std::string& tty) {
  MadeSysfs::Texts attributes{{"idVendor", "1a86"}, {"idProduct", "7523"}};
  if (!serial.empty()) attributes["serial"] = serial;
  machine.plug_in(port_path(port), "usb", attributes, {{"DEVTYPE", "usb_device"}});
  const std::string interface = port_path(port) + "/" + port + ":1.0";
  machine.plug_in(interface, "usb", {}, {{"DEVTYPE", "usb_interface"}});
  machine.plug_in(tty_path(port, tty), "tty", {}, {{"DEVNAME", tty}});
}

void unplug(const MadeMachine& machine, const std::string& port) { machine.unplug(port_path(port), "usb"); }

std::vector<std::string> nodes_of(Node& node, const std::string& id) {
  const AllocateAnswer answer = node.kubelet().allocate_ids(kSerial, {id});
  std::vector<std::string> paths;
  for (const ContainerNode& each : answer.containers.at(0).nodes) paths.push_back(each.host_path);
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("on a node that is a container, a dongle is Healthy while that container has its device node") {
  const MadeMachine machine;
  // In a container, /sys shows the machine's devices, no uevents arrive, and /dev is the container's own.
  machine.sysfs().device(port_path("1-2"), "usb",
                         {{"idVendor", "1a86"}, {"idProduct", "7523"}, {"serial", "A1"}},
                         {{"DEVTYPE", "usb_device"}});
  machine.sysfs().device(tty_path("1-2", "ttyUSB0"), "tty", {}, {{"DEVNAME", "ttyUSB0"}});
  Node node;
  node.configure(kDongles);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.unhealthy(kSerial, "1a86:7523:A1"));
  CHECK(node.daemon().wait_for_line({"devices turned Unhealthy", "there is no /dev/ttyUSB0 here"}, kLong));
  for (int turn = 0; turn < 2; ++turn) {
    std::filesystem::create_symlink("null", "/dev/ttyUSB0");
    CHECK(node.healthy(kSerial, "1a86:7523:A1", limit(1s)));
    CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB0"});
    std::filesystem::remove("/dev/ttyUSB0");
    CHECK(node.unhealthy(kSerial, "1a86:7523:A1", limit(1s)));
  }
}

TEST_CASE(
    "7.11 7.12 a dongle is listed within 1 s, Unhealthy within 1 s of removal, and keeps its id at a "
    "different port") {
  const MadeMachine machine;
  Node node;
  node.configure(kDongles);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSerial}));
  CHECK(node.of(kSerial).devices->empty());

  plug_in(machine, "1-2", "A1", "ttyUSB0");
  CHECK(node.healthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB0"});
  unplug(machine, "1-2");
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1", limit(1s)));
  plug_in(machine, "1-3", "A1", "ttyUSB1");
  CHECK(node.healthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB1"});
  CHECK(node.of(kSerial).devices->size() == 1);
  CHECK(node.of(kSerial).streams_ever == 1);
}

TEST_CASE(
    "a dongle that the entry leaves out is never listed, and its pattern is reported once while nothing "
    "matches") {
  const MadeMachine machine;
  Node node;
  node.configure(kDongles + "  except: [{serial: B2}]\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSerial}));
  CHECK(node.daemon().wait_for_line({"pattern matches no device on this node", "pattern=except[0]"}, kLong));
  plug_in(machine, "1-2", "B2", "ttyUSB0");
  plug_in(machine, "1-3", "A1", "ttyUSB1");
  REQUIRE(node.healthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB1"});
  CHECK(node.of(kSerial).devices->size() == 1);
  CHECK(node.daemon().comes_to_lines("pattern matches no device on this node", 1));
}

TEST_CASE("dongles that swap ports keep their ids, and their containers get the right nodes") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "A1", "ttyUSB0");
  plug_in(machine, "1-3", "B2", "ttyUSB1");
  Node node;
  node.configure(kDongles);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kSerial, 2));
  CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB0"});
  unplug(machine, "1-2");
  unplug(machine, "1-3");
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(node.unhealthy(kSerial, "1a86:7523:B2", limit(1s)));
  plug_in(machine, "1-2", "B2", "ttyUSB0");
  plug_in(machine, "1-3", "A1", "ttyUSB1");
  CHECK(node.healthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(node.healthy(kSerial, "1a86:7523:B2", limit(1s)));
  CHECK(nodes_of(node, "1a86:7523:A1") == Paths{"/dev/ttyUSB1"});
  CHECK(nodes_of(node, "1a86:7523:B2") == Paths{"/dev/ttyUSB0"});
}

TEST_CASE("identical dongles without serial numbers are separate devices, identified by their ports") {
  const MadeMachine machine;
  Node node;
  node.configure(kDongles);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSerial}));
  for (const char* port : {"1-1", "1-2.1", "1-2.2"}) {
    CAPTURE(port);
    plug_in(machine, port, "", std::string("ttyUSB") + port);
    CHECK(node.healthy(kSerial, std::string("usb-") + port, limit(1s)));
  }
  CHECK(node.of(kSerial).devices->size() == 3);
}

TEST_CASE("a device that changes its USB ids at its port, as a Coral does with its firmware, keeps its id") {
  const MadeMachine machine;
  const auto plug = [&](const char* vendor, const char* product, const char* node) {
    machine.plug_in(port_path("1-2"), "usb", {{"idVendor", vendor}, {"idProduct", product}},
                    {{"DEVTYPE", "usb_device"}, {"DEVNAME", node}});
  };
  Node node;
  node.configure("- name: " + kSerial +
                 "\n  groups:\n  - usb: [{anyOf: [{vendor: 1a6e, product: \"089a\"}, {vendor: 18d1, product: "
                 "\"9302\"}]}]\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSerial}));
  plug("1a6e", "089a", "bus/usb/001/005");
  CHECK(node.healthy(kSerial, "usb-1-2", limit(1s)));
  CHECK(nodes_of(node, "usb-1-2") == Paths{"/dev/bus/usb/001/005"});
  unplug(machine, "1-2");
  CHECK(node.unhealthy(kSerial, "usb-1-2", limit(1s)));
  plug("18d1", "9302", "bus/usb/001/006");
  CHECK(node.healthy(kSerial, "usb-1-2", limit(1s)));
  CHECK(nodes_of(node, "usb-1-2") == Paths{"/dev/bus/usb/001/006"});
  CHECK(node.of(kSerial).devices->size() == 1);
  CHECK(node.of(kSerial).streams_ever == 1);
}

TEST_CASE(
    "a stick that several entries list is Unhealthy in all others while it is held through one of them") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "A1", "ttyUSB0");
  plug_in(machine, "1-3", "B2", "ttyUSB1");
  const std::string port = "example.com/port";
  const std::string tty = "example.com/tty";
  Node node({.pod_resources = true});
  node.configure(kDongles + "- name: " + port +
                 "\n  groups: [{usb: [{port: \"1-2\", nodes: [tty]}]}]\n  id: \"{resource}-{id}\"\n- name: " +
                 tty + "\n  udev: {subsystem: tty}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSerial, port, tty}));
  const std::string by_port = port + "-1a86:7523:A1";
  REQUIRE(node.healthy(port, by_port));
  REQUIRE(node.kubelet().allocate_named("reader", "main", tty, {"ttyUSB0"}).admitted());
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1", limit(1s)));
  CHECK(node.unhealthy(port, by_port, limit(1s)));
  CHECK(node.healthy(kSerial, "1a86:7523:B2"));
  CHECK(node.healthy(tty, "ttyUSB0"));

  node.start_daemon();  // the daemon knows the holder from the checkpoint
  REQUIRE(node.attached({kSerial, port, tty}));
  CHECK(node.unhealthy(port, by_port, limit(1s)));
  CHECK(node.healthy(tty, "ttyUSB0"));
  CHECK(node.kubelet().free("reader"));
  CHECK(node.healthy(port, by_port));
  CHECK(node.healthy(kSerial, "1a86:7523:A1"));
}

TEST_CASE(
    "a held stick keeps its id when a duplicate is plugged in, when plughost restarts, and when the "
    "duplicate goes") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "0001", "ttyUSB0");
  Node node({.pod_resources = true});
  node.configure(kDongles);
  node.start_kubelet();
  node.start_daemon();
  const std::string first = "1a86:7523:0001";
  REQUIRE(node.healthy(kSerial, first));
  REQUIRE(node.kubelet().allocate_named("reader", "main", kSerial, {first}).admitted());
  plug_in(machine, "1-1", "0001", "ttyUSB1");
  CHECK(node.healthy(kSerial, "usb-1-1", limit(1s)));
  CHECK(node.healthy(kSerial, first));
  CHECK(node.of(kSerial).devices->size() == 2);

  node.start_daemon();
  REQUIRE(node.attached({kSerial}));
  CHECK(node.healthy(kSerial, "usb-1-1"));
  CHECK(node.healthy(kSerial, first));
  CHECK(node.of(kSerial).devices->size() == 2);
  CHECK(nodes_of(node, "usb-1-1") == Paths{"/dev/ttyUSB1"});
  unplug(machine, "1-2");
  CHECK(node.unhealthy(kSerial, first, limit(1s)));
  CHECK(node.healthy(kSerial, "usb-1-1"));
}

TEST_CASE(
    "a stick that returns with a different node stays Unhealthy until the pod that was given the old node "
    "ends, and so does the device that has the old node now") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "A1", "ttyUSB0");
  const std::string port = "example.com/port";
  Node node({.pod_resources = true});
  node.configure(kDongles + "- name: " + port + "\n  groups: [{paths: [{path: /dev/ttyUSB0}]}]\n");
  node.start_kubelet();
  node.start_daemon();
  const std::string stick = "1a86:7523:A1", first = "ttyUSB0";
  REQUIRE(node.healthy(kSerial, stick));
  REQUIRE(node.healthy(port, first));
  REQUIRE(node.kubelet().allocate_named("reader", "main", kSerial, {stick}).admitted());
  CHECK(node.healthy(kSerial, stick));
  SUBCASE("while plughost watches") {
    unplug(machine, "1-2");
    CHECK(node.unhealthy(kSerial, stick, limit(1s)));
    plug_in(machine, "1-3", "A1", "ttyUSB1");
  }
  SUBCASE("while plughost is down") {
    node.end_daemon();
    unplug(machine, "1-2");
    plug_in(machine, "1-3", "A1", "ttyUSB1");
    node.start_daemon();
    REQUIRE(node.attached({kSerial, port}));
  }
  CHECK(eventually([&] {
    return node.kubelet()
               .allocate_ids(kSerial, {stick})
               .text.find(
                   "default/reader was given /dev/ttyUSB0 for it, and it is /dev/ttyUSB1 now: delete the "
                   "pod") != std::string::npos;
  }));
  CHECK(node.unhealthy(kSerial, stick));
  CHECK(node.unhealthy(port, first));
  CHECK(node.daemon().wait_for_line(
      {"device has other nodes than its pod was given", "given=/dev/ttyUSB0", "now=/dev/ttyUSB1"}, kLong));
  CHECK(node.kubelet().free("reader"));
  CHECK(node.healthy(kSerial, stick));
  CHECK(node.healthy(port, first));
  CHECK(nodes_of(node, stick) == Paths{"/dev/ttyUSB1"});
}

TEST_CASE(
    "a stick that is no longer shared is not given through a different entry while a pod has a share of it") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "A1", "ttyUSB0");
  const std::string other = "example.com/other";
  const std::string usb = ", groups: [{usb: [{vendor: 1a86, nodes: [tty]}]}]}\n";
  Node node{{.pod_resources = true}};
  const auto configure = [&](const std::string& replicas) {
    node.configure("- {name: " + kSerial + ", replicas: " + replicas + usb + "- {name: " + other +
                   ", id: \"{resource}-{id}\"" + usb);
  };
  configure("3");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kSerial, 3));
  REQUIRE(node.kubelet().allocate_named("pod", "main", kSerial, {"1a86:7523:A1::1"}).admitted());
  REQUIRE(node.healthy(other, other + "-1a86:7523:A1"));
  configure("1");
  REQUIRE(node.reload());
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1"));
  CHECK(node.unhealthy(other, other + "-1a86:7523:A1", 500ms));
  REQUIRE(node.kubelet().free("pod"));
  CHECK(node.healthy(other, other + "-1a86:7523:A1"));
}

TEST_CASE("only the share whose pod was given a different node is Unhealthy") {
  const MadeMachine machine;
  plug_in(machine, "1-2", "A1", "ttyUSB0");
  Node node({.pod_resources = true});
  node.configure(kDongles + "  replicas: 2\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kSerial, "1a86:7523:A1::1"));
  REQUIRE(node.kubelet().allocate_named("reader", "main", kSerial, {"1a86:7523:A1::1"}).admitted());
  unplug(machine, "1-2");
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1::0", limit(1s)));
  plug_in(machine, "1-3", "A1", "ttyUSB1");
  CHECK(node.healthy(kSerial, "1a86:7523:A1::0"));
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1::1"));
  CHECK(node.daemon().wait_for_line({"device has other nodes than its pod was given"}, kLong));
  CHECK(node.unhealthy(kSerial, "1a86:7523:A1::1"));
  CHECK(node.kubelet().free("reader"));
  CHECK(node.healthy(kSerial, "1a86:7523:A1::1"));
}
