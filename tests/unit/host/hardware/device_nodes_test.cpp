#include "host/hardware/device_nodes.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

std::string error_with(const HostRoot& host, const std::string& path) {
  Allocation allocation;
  allocation.nodes = {{path, path, "rw"}};
  return missing_device_node(host, allocation);
}

std::string none_at(const std::string& path) {
  return "there is no " + path + " here: if the node is itself a container, that container must have it";
}

Device device_with(const std::vector<std::string>& paths) {
  Device device{.id = "a"};
  for (const std::string& path : paths) device.add_node(path);
  return device;
}

// Runs the check of the devices, and returns why `device` is Unhealthy; empty: Healthy.
std::string error_of(const HostRoot& host, Device device, const AllocationSpec& spec = {},
                     const NodeNumbers& numbers = {}) {
  std::vector<Device> devices{std::move(device)};
  check_devices(host, "x.com/a", spec, numbers, devices);
  return devices[0].error;
}

}  // namespace

TEST_CASE("a device node passes the check, also through a symbolic link") {
  const test::TempDir tree;
  tree.link("dev/modem", "/dev/null");
  CHECK(error_with(HostRoot(), "/dev/null").empty());
  CHECK(error_with(HostRoot(tree.path()), "/dev/modem").empty());
}

TEST_CASE("a missing device node, and a path that is not a device node, are errors that name the path") {
  const test::TempDir tree;
  tree.file("dev/plain");
  const HostRoot host(tree.path());
  CHECK(error_with(host, "/dev/gone") == none_at("/dev/gone"));
  CHECK(error_with(host, "/dev/plain") == "/dev/plain is not a device node");
}

TEST_CASE("a path outside /dev is not touched, because its file system may hang") {
  CHECK(error_with(HostRoot(), "/mnt/nowhere/node").empty());
  const test::TempDir tree;
  tree.link("dev/far", "/mnt/nowhere/node");
  tree.link("dev/by-id/far", "../far");
  tree.link("dev/outside", "/mnt/nowhere");
  const HostRoot host(tree.path());
  CHECK(error_with(host, "/dev/far").empty());
  CHECK(error_with(host, "/dev/by-id/far").empty());
  CHECK(error_with(host, "/dev/outside/node").empty());
}

TEST_CASE("links within /dev are followed to their end") {
  const test::TempDir tree;
  tree.link("dev/serial/by-id/usb-A1", "../../ttyUSB0");
  tree.link("dev/loop-a", "loop-b");
  tree.link("dev/loop-b", "loop-a");
  const HostRoot host(tree.path());
  CHECK(error_with(host, "/dev/serial/by-id/usb-A1") == none_at("/dev/serial/by-id/usb-A1"));
  tree.link("dev/ttyUSB0", "/dev/null");
  CHECK(error_with(host, "/dev/serial/by-id/usb-A1").empty());
  CHECK(error_with(host, "/dev/loop-a") == none_at("/dev/loop-a"));
  CHECK(error_with(host, "/dev/ttyUSB0/below") == none_at("/dev/ttyUSB0/below"));
}

TEST_CASE("a device is Unhealthy if one of its nodes is missing or is not a device node") {
  const test::TempDir tree;
  tree.link("dev/good", "/dev/null");
  tree.file("dev/plain");
  tree.link("dev/dangling", "nowhere");
  tree.link("srv/good", "/dev/null");
  const HostRoot host(tree.path());
  CHECK(error_of(host, device_with({"/dev/good", "/srv/good"})).empty());
  CHECK(error_of(host, device_with({"/dev/good", "/dev/gone"})) == none_at("/dev/gone"));
  CHECK(error_of(host, device_with({"/dev/dangling"})) == none_at("/dev/dangling"));
  CHECK(error_of(host, device_with({"/srv/gone"})) == none_at("/srv/gone"));
  CHECK(error_of(host, device_with({"/dev/plain"})) == "/dev/plain is not a device node");
}

TEST_CASE("a device is Unhealthy if a node of its entry or kind is missing") {
  const test::TempDir tree;
  const HostRoot host(tree.path());
  AllocationSpec spec;
  spec.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/modem")}};
  CHECK(error_of(host, {.id = "a"}, spec) == none_at("/dev/a"));
  auto kind = std::make_shared<KindSpec>();
  kind->nodes = spec.nodes;
  CHECK(error_of(host, {.id = "b", .spec = kind}) == none_at("/dev/b"));
  spec.cdi = CdiNames::kCri;
  CHECK(error_of(host, {.id = "a"}, spec) == none_at("/dev/a"));
}

TEST_CASE("a device is Unhealthy if its node has a different device number or type than the kernel reports") {
  const HostRoot host;
  const Device null = device_with({"/dev/null"});
  CHECK(error_of(host, null, {}, {{"/dev/null", "c1:3"}}).empty());
  CHECK(error_of(host, null, {}, {{"/dev/zero", "c1:5"}}).empty());
  CHECK(error_of(host, null, {}, {{"/dev/null", "c1:5"}}) ==
        "/dev/null is another device's node: it is c1:3, and the device is c1:5 (c: character, b: block)");
  CHECK(error_of(host, null, {}, {{"/dev/null", "b1:3"}}) ==
        "/dev/null is another device's node: it is c1:3, and the device is b1:3 (c: character, b: block)");
}

TEST_CASE("a device is Unhealthy if its Allocate would be refused, with the same text as the refusal") {
  const HostRoot host;
  Device two = device_with({"/dev/null", "/dev/zero"});
  for (DeviceNode& node : two.nodes) node.container_path = "/dev/modem";
  const std::string conflict = error_of(host, two);
  CHECK(conflict.find("/dev/modem in the container would be both device /dev/null") != std::string::npos);
  const std::vector<std::string> ids{"a"};
  const auto refused = allocate("x.com/a", {}, Inventory({two}), ids);
  CHECK(conflict == std::get<Refusal>(refused).text);
  AllocationSpec spec;
  spec.env = {{Template("SERIAL"), Template("{serial}")}};
  CHECK(error_of(host, {.id = "a"}, spec).find("has no {serial}") != std::string::npos);
  spec.env = {{Template("A=B"), Template("x")}};
  CHECK(error_of(host, {.id = "a"}, spec).find("cannot be an environment variable's name") !=
        std::string::npos);
  spec = {};
  spec.mounts = {{.host_path = Template("/srv/{serial}"), .container_path = Template("/data")}};
  Device outside{.id = "a"};
  outside.add("serial", "../../etc");
  CHECK(error_of(host, outside, spec) ==
        "resource x.com/a: device \"a\": its {serial} is \"../../etc\", which leads to a different directory "
        "and cannot be in a path; use a different attribute there");
  spec.mounts = {};
  spec.nodes = {{.host_path = Template("/dev/null"), .container_path = Template("/dev/{name}")}};
  Device dot{.id = "a"};
  dot.add("name", ".");
  CHECK(error_of(host, dot, spec).find("its {name} is \".\"") != std::string::npos);
}

TEST_CASE("an Unhealthy device keeps its reason, and a device without nodes is Healthy") {
  const test::TempDir tree;
  const HostRoot host(tree.path());
  Device sick = device_with({"/dev/gone"});
  sick.error = "no driver is bound to it";
  CHECK(error_of(host, sick) == "no driver is bound to it");
  CHECK(error_of(host, {.id = "a"}).empty());
}

TEST_CASE(
    "a device is Unhealthy if its VFIO group is not viable, and events of PCI devices start a new check") {
  const test::MadeSysfs machine;
  const std::string audio = "/sys/devices/pci0000:00/0000:01:00.1";
  machine.device(audio, "pci", {{"class", "0x040300"}});
  machine.bind(audio, "snd_hda_intel");
  machine.link(audio + "/iommu_group", "/sys/kernel/iommu_groups/15");
  machine.tree().link("dev/vfio/15", "/dev/null");
  const auto check = [&](const char* path) {
    std::vector<Device> devices{device_with({path})};
    const auto again = check_devices(machine.host(), "x.com/a", {}, {}, devices);
    return std::pair(devices[0].error, again.subsystems);
  };
  using Texts = std::vector<std::string>;
  CHECK(check("/dev/vfio/15") == std::pair(std::string("IOMMU group 15 is not viable: 0000:01:00.1 has the "
                                                       "driver snd_hda_intel; bind each function of the "
                                                       "group to vfio-pci, or to no driver"),
                                           Texts{"pci"}));
  machine.bind(audio, "vfio-pci");
  CHECK(check("/dev/vfio/15") == std::pair(std::string(), Texts{"pci"}));
  machine.tree().link("dev/modem", "/dev/null");
  CHECK(check("/dev/modem") == std::pair(std::string(), Texts{}));
}

TEST_CASE(
    "a check asks to watch the directory of a missing node, and without udevd the directory of each node") {
  const test::TempDir tree;
  tree.link("dev/good", "/dev/null");
  std::vector<Device> devices{device_with({"/dev/good", "/dev/bus/001"}), device_with({"/dev/good"})};
  using Watched = std::vector<WatchedDirectory>;
  CHECK(check_devices(HostRoot(tree.path()), "x.com/a", {}, {}, devices).directories ==
        Watched{{.path = "/dev"}, {.path = "/dev/bus", .name = "001"}});
  tree.file("run/udev/control");
  CHECK(check_devices(HostRoot(tree.path()), "x.com/a", {}, {}, devices).directories ==
        Watched{{.path = "/dev/bus", .name = "001"}});
}

TEST_CASE("however many nodes are missing, a check requests at most 1,000 watched directories") {
  const test::TempDir tree;
  std::vector<std::string> paths;
  for (std::size_t n = 0; n <= HostRoot::kMostWatched; ++n) paths.push_back("/dev/none/" + std::to_string(n));
  std::vector<Device> devices;
  for (const std::string& path : paths) devices.push_back(device_with({path}));
  CHECK(check_devices(HostRoot(tree.path()), "x.com/a", {}, {}, devices).directories.size() ==
        HostRoot::kMostWatched);
  CHECK(devices.back().error == none_at(paths.back()));
}

// Returns a device node of this machine that is not open to all users.
std::string terminals() { return std::filesystem::canonical("/dev/ptmx"); }

TEST_CASE("a node's hardware is its place in the device tree, and a node that all may open has none") {
  const test::MadeSysfs sysfs;
  const HostRoot host = sysfs.host();
  sysfs.tree().link("/dev/modem", "ttyUSB0");
  sysfs.tree().link("/dev/ttyUSB0", terminals());
  sysfs.tree().link("/dev/any", "/dev/zero");
  sysfs.tree().file("/dev/plain");
  CHECK(unit_of(host, "/dev/ttyUSB0") == terminals());
  const std::string number = *host.device_number("/dev/modem");
  const std::size_t colon = number.find(':');
  sysfs.device("/sys/devices/a/tty/ttyUSB0", "tty", {},
               {{"MAJOR", number.substr(0, colon)}, {"MINOR", number.substr(colon + 1)}});
  CHECK(unit_of(host, "/dev/ttyUSB0") == "/sys/devices/a/tty/ttyUSB0");
  CHECK(unit_of(host, "/dev/modem") == "/sys/devices/a/tty/ttyUSB0");
  for (const char* path : {"/dev/plain", "/dev/gone"}) CHECK(unit_of(host, path) == "");
  CHECK(unit_of(host, "/dev/any") == std::nullopt);
}

TEST_CASE(
    "a device's hardware is that of its own and its entry's nodes, and a node that several devices have does "
    "not count") {
  const test::TempDir tree;
  for (const char* name : {"a", "b", "c", "shared", "common"})
    tree.link(std::string("dev/") + name, terminals());
  const HostRoot host(tree.path());
  std::vector<Device> devices{{.id = "a"}, {.id = "b"}, {.id = "c", .replicas = 2}, {.id = "d"}};
  for (Device& device : devices) device.add("path", "/dev/" + device.id);
  devices[0].add_node("/dev/shared");
  devices[1].add_node("/dev/shared");
  devices[3].hardware.edit().units = {"known"};
  AllocationSpec spec;
  spec.nodes = {{.host_path = Template("{path}"), .container_path = Template("{path}")},
                {.host_path = Template("/dev/common"), .container_path = Template("/dev/common")}};
  find_units(host, spec, devices);
  using Texts = std::vector<std::string>;
  CHECK(devices[0].hardware->units == Texts{terminals()});  // from the node /dev/a; the other two are shared
  CHECK(devices[1].hardware->units == Texts{terminals()});
  CHECK(devices[2].hardware->units.empty());
  CHECK(devices[3].hardware->units == Texts{"known"});
}

TEST_CASE("the targets of links are stored only for devices that are given by CDI") {
  const test::TempDir tree;
  tree.file("dev/ttyUSB0");
  tree.file("dev/ttyUSB1");
  tree.link("dev/serial/by-id/modem", "../../ttyUSB0");
  tree.link("srv/modem", "../dev/ttyUSB1");
  tree.link("srv/gone", "nowhere");
  const HostRoot host(tree.path());
  Device device{.id = "modem"};
  for (const char* path : {"/dev/serial/by-id/modem", "/dev/ttyUSB0", "/srv/gone"})
    device.nodes.push_back({.host_path = path, .container_path = path});
  AllocationSpec spec;
  spec.name = Template("x.com/a");
  spec.nodes = {{.host_path = Template("/srv/{id}"), .container_path = Template("/dev/modem")}};
  std::vector<Device> devices{device};
  check_devices(host, "x.com/a", spec, {}, devices);
  CHECK(devices[0].cdi_nodes.empty());
  spec.cdi = CdiNames::kCri;
  check_devices(host, "x.com/a", spec, {}, devices);
  CHECK(devices[0].cdi_nodes ==
        std::vector<CdiNode>{{"/dev/serial/by-id/modem", "/dev/ttyUSB0"}, {"/srv/modem", "/dev/ttyUSB1"}});
}

TEST_CASE("with `access: group` a CDI node has the group of its target, otherwise no group") {
  const test::TempDir tree;
  tree.file("dev/ttyUSB0");
  tree.link("dev/modem", "ttyUSB0");
  const auto file = tree.at("dev/ttyUSB0");
  // Without root the file has the user's own group.
  if (::geteuid() == 0) REQUIRE(::chown(file.c_str(), 0, 20) == 0);
  struct stat its {};
  REQUIRE(::stat(file.c_str(), &its) == 0);
  AllocationSpec spec;
  spec.name = Template("x.com/a");
  spec.cdi = CdiNames::kCri;
  Device device{.id = "modem"};
  device.nodes = {{.host_path = "/dev/modem", .container_path = "/dev/modem"}};
  std::vector<Device> devices{device};
  check_devices(HostRoot(tree.path()), "x.com/a", spec, {}, devices);
  CHECK(devices[0].cdi_nodes == std::vector<CdiNode>{{"/dev/modem", "/dev/ttyUSB0", 0}});
  devices = {device};
  spec.group_access = true;
  check_devices(HostRoot(tree.path()), "x.com/a", spec, {}, devices);
  CHECK(devices[0].cdi_nodes == std::vector<CdiNode>{{"/dev/modem", "/dev/ttyUSB0", its.st_gid}});
}

TEST_CASE("the node behind a link below /dev is found, and a link out of /dev is not followed") {
  const test::TempDir tree;
  tree.file("dev/ttyUSB0");
  tree.link("dev/serial/by-id/modem", "../../ttyUSB0");
  tree.link("dev/modem", "serial/by-id/modem");
  tree.link("dev/null", "/dev/null");
  tree.link("dev/far", "/mnt/nowhere/node");
  tree.link("dev/nowhere", "gone");
  tree.link("outside", "dev/ttyUSB0");
  const HostRoot host(tree.path());
  CHECK(node_behind(host, "/dev/ttyUSB0") == "/dev/ttyUSB0");
  CHECK(node_behind(host, "/dev/serial/by-id/modem") == "/dev/ttyUSB0");
  CHECK(node_behind(host, "/dev/modem") == "/dev/ttyUSB0");
  CHECK(node_behind(host, "/dev/null") == "/dev/null");
  for (const char* path : {"/dev/far", "/dev/nowhere", "/dev/gone", "/outside", "/mnt/nowhere/node", "/dev"})
    CHECK(node_behind(host, path) == path);
}
