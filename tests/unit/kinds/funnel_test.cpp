#include "kinds/funnel.hpp"

#include <doctest/doctest.h>

#include "base/text/text.hpp"
#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/host/hardware/recorded.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;

// Returns the funnels of a scan of the entry `key: value`, one per line.
std::string funnels(const MadeSysfs& machine, const std::string& key, Node value, const Choice& choice = {}) {
  const Entry entry = read_entry(key, std::move(value));
  REQUIRE(entry.problems.empty());
  std::string lines;
  for (const Funnel& funnel : entry.source->scan_chosen(machine.host(), taking(choice)).funnels)
    lines += funnel.selector + ": " + joined(funnel.lines(), "; ") + '\n';
  return lines;
}

std::string why(const MadeSysfs& machine, const std::string& key, Node value, const Choice& choice = {}) {
  const Entry entry = read_entry(key, std::move(value));
  REQUIRE(entry.problems.empty());
  const Scan scan = entry.source->scan_chosen(machine.host(), taking(choice));
  REQUIRE(scan.devices.empty());
  return why_no_devices(scan.funnels);
}

Node path_group(const std::string& path) {
  return list({map({{"paths", list({map({{"path", text(path)}})})}})});
}
Node usb_group(std::vector<std::pair<std::string, Node>> keys) {
  return list({map({{"usb", list({map(std::move(keys))})}})});
}

}  // namespace

TEST_CASE("a funnel counts what each rule leaves out, in the order of the rules' first use") {
  Funnel funnel{.selector = "pci", .candidates = "PCI function"};
  CHECK_FALSE(funnel.pass("its vendor is not 10de"));
  CHECK_FALSE(funnel.pass("its class is not 03"));
  CHECK_FALSE(funnel.pass("its vendor is not 10de"));
  CHECK(funnel.why_empty() ==
        "3 PCI functions, left out: 2 (its vendor is not 10de), 1 (its class is not 03)");
  funnel.nothing = "no card";
  CHECK(funnel.why_empty() == "no card");
  CHECK(funnel.lines().back() == "0 match: no card");
  CHECK(funnel.pass(""));
  CHECK(funnel.seen == 4);
  CHECK(funnel.matched() == 1);
  CHECK(funnel.why_empty().empty());
  CHECK(funnel.lines() == std::vector<std::string>{"4 PCI functions", "2 left out: its vendor is not 10de",
                                                   "1 left out: its class is not 03", "1 matches"});
}

TEST_CASE(
    "why there are no devices is the reason of each selector without a match, each once, three at most") {
  const Funnel none{.selector = "a", .candidates = "USB device"};
  CHECK(why_no_devices({none, none}) == "there is no USB device");
  CHECK(why_no_devices({{.selector = "a", .candidates = "USB device", .seen = 1}, none}) ==
        "there is no USB device");
  CHECK(why_no_devices(
            {{.selector = "a", .candidates = "path", .nothing = "no such path /x", .optional = true}}) ==
        "its scan found none that can be listed");
  std::vector<Funnel> many;
  for (const char* path : {"/a", "/b", "/c", "/d", "/e"})
    many.push_back({.selector = "a", .candidates = "path", .nothing = path});
  CHECK(why_no_devices(many) == "/a; /b; /c; /d; and 1 more");
}

TEST_CASE("a missing path names its first missing directory, and a name with one typing error") {
  const MadeSysfs machine;
  machine.tree().file("/dev/fuse");
  machine.tree().file("/dev/ttyUSB1");
  CHECK(no_such_path(machine.host(), "/dev/fuze") == "no such path /dev/fuze (did you mean /dev/fuse?)");
  CHECK(no_such_path(machine.host(), "/dev/ttyUSB0") == "no such path /dev/ttyUSB0");
  CHECK(no_such_path(machine.host(), "/dev/fuuze") == "no such path /dev/fuuze");
  CHECK(no_such_path(machine.host(), "/dve/fuse/a") ==
        "no such path /dve/fuse/a: /dve does not exist (did you mean /dev?)");
  const HostRoot recorded(std::make_shared<RecordedMachine>());
  CHECK(no_such_path(recorded, "/dev/fuze") == "no such path /dev/fuze: /dev does not exist");
}

TEST_CASE("a missing subsystem names one with one typing error, or asks for the driver") {
  const MadeSysfs machine;
  machine.tree().directory("/sys/class/video4linux");
  machine.tree().directory("/sys/bus/i2c");
  CHECK(no_such_subsystem(machine.host(), "vide04linux") ==
        "no subsystem vide04linux (did you mean video4linux?)");
  CHECK(no_such_subsystem(machine.host(), "i2cc") == "no subsystem i2cc (did you mean i2c?)");
  CHECK(no_such_subsystem(machine.host(), "tty") == "no subsystem tty: is its driver loaded?");
  CHECK(no_such_subsystem(machine.host(), "video4linux") == "the subsystem video4linux has no device");
}

TEST_CASE("a directory without devices is missing, empty, has other names only, or no files") {
  const MadeSysfs machine;
  const auto of = [&](const char* path, const char* match = "*") {
    return why(machine, "directory", map({{"path", text(path)}, {"match", text(match)}}));
  };
  CHECK(of("/etc/licences") == "no such directory /etc/licences: /etc does not exist");
  machine.tree().directory("/etc/licences");
  CHECK(of("/etc/licences") == "the directory /etc/licences is empty");
  machine.tree().directory("/etc/licences/old");
  CHECK(of("/etc/licences") ==
        "the directory /etc/licences has no files, only directories or dangling links");
  machine.tree().file("/etc/licences/a.txt");
  CHECK(of("/etc/licences", "*.lic") ==
        "the directory /etc/licences has 1 file, and `match: *.lic` matches none");
  machine.tree().file("/etc/licences/a.lic");
  CHECK(funnels(machine, "directory", map({{"path", text("/etc/licences")}, {"match", text("*.lic")}})) ==
        "directory: 3 entries; 1 left out: it is not a file; 1 left out: `match: *.lic` does not match its "
        "name; 1 matches\n");
}

TEST_CASE("a path without devices is missing, matches nothing, or matches no device node") {
  const MadeSysfs machine;
  CHECK(why(machine, "groups", path_group("/dev/kvm")) == "no such path /dev/kvm: /dev does not exist");
  machine.tree().directory("/dev");
  CHECK(why(machine, "groups", path_group("/dev/ttyUSB*")) == "nothing matches /dev/ttyUSB*");
  CHECK(
      why(machine, "groups", path_group("/dev/serial/by-id/*")) ==
      "nothing matches /dev/serial/by-id/*: no such directory /dev/serial/by-id: /dev/serial does not exist");
  machine.tree().file("/dev/ttyUSB0");
  CHECK(why(machine, "groups", path_group("/dev/ttyUSB*")) ==
        "1 path, left out: it is not a device node (`type: Mount` gives files and directories)");
}

TEST_CASE("a part of a group that is missing is the reason, unless it is optional") {
  const MadeSysfs machine;
  machine.tree().link("/dev/a", "/dev/null");
  machine.tree().link("/dev/b1", "/dev/null");
  const auto group = [](const char* other, const char* optional) {
    return list({map({{"paths", list({map({{"path", text("/dev/[ab]*")}}),
                                      map({{"path", text(other)}, {"optional", text(optional)}})})}})});
  };
  CHECK(why(machine, "groups", group("/dev/xyz", "false")) == "no such path /dev/xyz");
  CHECK(
      funnels(machine, "groups", group("/dev/xyz", "true")) ==
      "groups[0].paths[0]: 2 paths; 2 match\ngroups[0].paths[1]: 0 paths; 0 match: no such path /dev/xyz\n");
  CHECK(funnels(machine, "groups", group("/dev/a", "false")) ==
        "groups[0].paths[0]: 2 paths; 2 match\ngroups[0].paths[1]: 1 path; 1 matches\n"
        "groups[0]: 2 devices; 1 left out: another part of the group has no match for it; 1 matches\n");
}

TEST_CASE("USB devices that do not fit are counted, and the nearest of the same vendor is named") {
  const MadeSysfs machine;
  const std::string root = "/sys/devices/pci0000:00/0000:00:14.0/usb1/";
  const auto plug_in = [&](const std::string& port, const char* vendor, const char* product) {
    machine.device(root + port, "usb", {{"idVendor", vendor}, {"idProduct", product}, {"serial", "S1"}},
                   {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/00" + port.substr(2)}});
  };
  const auto wanted = [](const char* vendor, const char* product) {
    return usb_group({{"vendor", text(vendor)}, {"product", text(product)}});
  };
  CHECK(why(machine, "groups", wanted("10c4", "ea60")) == "there is no USB device");
  plug_in("1-1", "1d6b", "0002");
  CHECK(why(machine, "groups", wanted("10c4", "ea60")) == "1 USB device, none is 10c4:ea60");
  plug_in("1-2", "10c4", "ea61");
  CHECK(why(machine, "groups", wanted("10c4", "ea60")) ==
        "2 USB devices, none is 10c4:ea60; the nearest is 10c4:ea61 at port 1-2, serial S1");
  CHECK(funnels(machine, "groups", wanted("10c4", "ea60")) ==
        "groups[0].usb[0]: 2 USB devices; 1 left out: its vendor is not 10c4; 1 left out: its product is not "
        "ea60; 0 match: 2 USB devices, none is 10c4:ea60; the nearest is 10c4:ea61 at port 1-2, serial S1\n");
  CHECK(why(machine, "groups", usb_group({{"serial", text("S2")}, {"port", text("1-9")}})) ==
        "2 USB devices, none is serial S2, port 1-9");
  const Node any =
      list({map({{"vendor", text("10c4")}, {"product", text("0001")}}), map({{"vendor", text("dead")}})});
  CHECK(why(machine, "groups", usb_group({{"anyOf", any}})) ==
        "2 USB devices, none is 10c4:0001 or vendor dead; the nearest is 10c4:ea61 at port 1-2, serial S1");
  machine.attribute(root + "1-1", "bDeviceClass", "09");
  CHECK(why(machine, "groups", usb_group({{"vendor", text("1d6b")}})) ==
        "2 USB devices, left out: 1 (it is a hub, and the entry names only the vendor), 1 (its vendor is not "
        "1d6b)");
}

TEST_CASE("PCI functions that do not fit are counted by the first selector that differs") {
  const MadeSysfs machine;
  const auto add = [&](const std::string& address, const char* vendor, const char* class_code) {
    machine.device("/sys/devices/pci0000:00/" + address, "pci",
                   {{"vendor", vendor}, {"device", "0x1234"}, {"class", class_code}});
  };
  add("0000:00:01.0", "0x8086", "0x030000");
  add("0000:00:02.0", "0x10de", "0x040300");
  const auto keys = [](const char* device, const char* driver) {
    return map({{"vendors", text("10de")},
                {"devices", text(device)},
                {"classes", text("0302")},
                {"drivers", text(driver)}});
  };
  CHECK(why(machine, "pci", keys("1235", "x")) ==
        "2 PCI functions, left out: 1 (its vendor is not 10de), 1 (its device id is not 1235)");
  CHECK(why(machine, "pci", keys("1234", "x")) ==
        "2 PCI functions, left out: 1 (its vendor is not 10de), 1 (its class is not 0302)");
  CHECK(why(machine, "pci", map({{"drivers", list({text("x"), text("y")})}})) ==
        "2 PCI functions, left out: its driver is not x or y");
  CHECK(why(machine, "rdma", map({})) == "the kernel has no RDMA device: is the card's RDMA driver loaded?");
}

TEST_CASE("devices of a udev subsystem that do not fit are counted by the first key that differs") {
  const MadeSysfs machine;
  machine.device("/sys/devices/virtual/tty/tty1", "tty", {{"index", "1"}}, {{"DEVNAME", "tty1"}});
  const auto of = [&](std::vector<std::pair<std::string, Node>> keys) {
    keys.emplace_back("subsystem", text("tty"));
    return why(machine, "udev", map(std::move(keys)));
  };
  CHECK(of({{"name", text("ttyUSB*")}}) == "1 tty device, left out: `name: ttyUSB*` does not match");
  CHECK(of({{"attributes", map({{"index", text("2")}})}}) ==
        "1 tty device, left out: it does not have the `attributes`");
  CHECK(of({{"attributesOfParents", map({{"idVendor", text("2")}})}}) ==
        "1 tty device, left out: no device above it has the `attributesOfParents`");
  CHECK(of({{"properties", map({{"ID_BUS", text("usb")}})}}) ==
        "1 tty device, left out: its property ID_BUS is not usb");
  CHECK(of({{"tags", text("seat")}}) == "1 tty device, left out: it does not have the tag seat");
  machine.tree().file("/run/udev/control");
  machine.device("/sys/devices/virtual/tty/tty1", "tty", {},
                 {{"DEVNAME", "tty1"}, {"MAJOR", "4"}, {"MINOR", "1"}});
  CHECK(of({}) == "1 tty device, left out: udev has not processed it yet");
  CHECK(why(machine, "udev", map({{"subsystem", text("drm")}})) == "no subsystem drm: is its driver loaded?");
}

TEST_CASE("what `only` and `except` leave out is counted after the kind's own selectors") {
  const MadeSysfs machine;
  for (const char* name : {"a", "b", "c"}) machine.tree().file(std::string("/etc/g/") + name);
  const auto of = [](const char* id) { return DevicePattern{.attributes = {{"id", {id}}}, .where = "x"}; };
  CHECK(funnels(machine, "directory", map({{"path", text("/etc/g")}}),
                {.only = {of("[ab]")}, .except = {of("a")}}) ==
        "directory: 3 entries; 3 match\nonly, except: 3 devices; 1 left out: `only` does not select it; 1 "
        "left out: `except` excludes it; 1 matches\n");
  CHECK(why(machine, "directory", map({{"path", text("/etc/g")}}), {.only = {}, .except = {of("*")}}) ==
        "3 devices, left out: `except` excludes it");
}

TEST_CASE("a machine without a GPU says so for each vendor") {
  const MadeSysfs machine;
  const auto of = [&](const char* vendor) { return why(machine, "gpu", map({{"vendor", text(vendor)}})); };
  CHECK(of("amd") == "there is no amd GPU");
  CHECK(of("iluvatar") == "nothing matches /dev/iluvatar[0-9]*");
  CHECK(of("nvidia") == "the PCI bus has no nvidia GPU, and no NVIDIA driver is loaded");
  machine.device("/sys/devices/pci0000:00/0000:00:01.0", "pci",
                 {{"vendor", "0x10de"}, {"device", "0x1234"}, {"class", "0x030200"}});
  CHECK(of("nvidia") == "the PCI bus has 1 nvidia GPU, and no NVIDIA driver is loaded");
  machine.tree().directory("/proc/driver/nvidia");
  CHECK(of("nvidia").starts_with("the PCI bus has 1 nvidia GPU, of which the driver offers none"));
  machine.device("/sys/devices/pci0000:00/0000:00:02.0", "pci",
                 {{"vendor", "0x1002"}, {"device", "0x1234"}, {"class", "0x030000"}});
  machine.bind("/sys/devices/pci0000:00/0000:00:02.0", "vfio-pci");
  CHECK(of("amd") == "1 amd GPU, left out: it is a virtual function, or its driver is for virtual machines");
}

TEST_CASE("a program that lists nothing is named") {
  const MadeSysfs machine;
  const Entry entry =
      read_entry("exec", map({{"discover", list({text("/bin/echo"), text(R"({"devices": []})")})}}));
  CHECK(why_no_devices(entry.source->scan(HostRoot()).funnels) == "the program /bin/echo lists no device");
}

}  // namespace plughost
