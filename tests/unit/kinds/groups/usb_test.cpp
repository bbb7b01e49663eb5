#include <doctest/doctest.h>

#include <algorithm>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;
using Ids = std::vector<std::string>;
using Nodes = std::vector<DeviceNode>;
using Members = std::vector<std::pair<std::string, Node>>;

const std::string kRoot = "/sys/devices/pci0000:00/0000:00:14.0/usb1/";

void plug_in(const MadeSysfs& sysfs, const std::string& port, const std::string& product,
             const std::string& serial) {
  MadeSysfs::Texts attributes{{"idVendor", "0451"}, {"idProduct", product}};
  if (!serial.empty()) attributes["serial"] = serial;
  sysfs.device(kRoot + port, "usb", attributes,
               {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/0" + port.substr(2)}});
}

void add_tty(const MadeSysfs& sysfs, const std::string& port, const std::string& name,
             const std::string& minor) {
  sysfs.device(kRoot + port + "/" + port + ":1.0", "usb", {}, {{"DEVTYPE", "usb_interface"}});
  sysfs.device(kRoot + port + "/" + port + ":1.0/" + name + "/tty/" + name, "tty", {},
               {{"DEVNAME", name}, {"MAJOR", "188"}, {"MINOR", minor}});
}

Node usb(Members keys) { return list({map({{"usb", list({map(std::move(keys))})}})}); }

Scan usb_scan(const MadeSysfs& sysfs, Members keys) {
  const Entry entry = read_entry("groups", usb(std::move(keys)));
  REQUIRE(entry.problems == Ids{});
  return entry.source->scan(sysfs.host());
}

}  // namespace

TEST_CASE("vendor and product are hexadecimal text, however they are written") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "A1");
  plug_in(sysfs, "1-3", "f001", "A2");
  for (const char* vendor : {"0451", "0x0451", "0x451"}) {
    CAPTURE(vendor);
    const Scan scan = usb_scan(sysfs, {{"vendor", text(vendor)}, {"product", text("F000")}});
    REQUIRE(ids_of(scan) == Ids{"0451:f000:A1"});
    CHECK(scan.devices[0].nodes == Nodes{{"/dev/bus/usb/001/02", "/dev/bus/usb/001/02", "rw"}});
  }
  CHECK(usb_scan(sysfs, {{"vendor", text("1a86")}}).devices.empty());
  CHECK(ids_of(usb_scan(sysfs, {{"serial", text("A2")}})) == Ids{"0451:f001:A2"});
  CHECK(ids_of(usb_scan(sysfs, {{"port", text("1-2")}})) == Ids{"0451:f000:A1"});
}

TEST_CASE(
    "a USB device without a serial number is identified by its port, and others also by the serial number") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "");
  plug_in(sysfs, "1-3", "f000", "0001");
  plug_in(sysfs, "1-4", "f000", "0001");
  const Scan scan = usb_scan(sysfs, {{"vendor", text("0451")}});
  CHECK(ids_of(scan) == Ids{"usb-1-2", "0451:f000:0001", "0451:f000:0001"});
  CHECK(scan.devices[0].hardware->ids.by_place.empty());
  const Device& duplicate = scan.devices[2];
  CHECK(*duplicate.attribute_at_place("id") == "usb-1-4");
  CHECK(*duplicate.attribute_at_place("name") == "usb-1-4");
  CHECK(*duplicate.attribute_at_place("plainName") == "usb-1-4");
  CHECK(*duplicate.attribute("plainName") == "0451_f000_0001");
  CHECK(scan.devices[0].hardware->units == Ids{kRoot + "1-2"});
}

TEST_CASE("a vendor does not match a hub, because others are plugged into it") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "8142", "");
  sysfs.attribute(kRoot + "1-2", "bDeviceClass", "09");
  plug_in(sysfs, "1-3", "f000", "");
  const Scan vendor = usb_scan(sysfs, {{"vendor", text("0451")}});
  CHECK(ids_of(vendor) == Ids{"usb-1-3"});
  REQUIRE(vendor.remarks.size() == 1);
  CHECK(vendor.remarks[0].find(": 1-2; to list it, name it more exactly") != std::string::npos);
  const Members names[] = {{{"vendor", text("0451")}, {"product", text("8142")}}, {{"port", text("1-2")}}};
  for (const Members& name : names) {
    const Scan scan = usb_scan(sysfs, name);
    CHECK(ids_of(scan) == Ids{"usb-1-2"});
    CHECK(scan.remarks.empty());
  }
  const auto any_of = [&](const char* product) {
    return ids_of(
        usb_scan(sysfs, {{"anyOf", list({map({{"vendor", text("0451")}}),
                                         map({{"vendor", text("0451")}, {"product", text(product)}})})}}));
  };
  CHECK(any_of("8142") == Ids{"usb-1-2", "usb-1-3"});
  CHECK(any_of("8143") == Ids{"usb-1-3"});
}

TEST_CASE("with `nodes` a device has its child nodes instead of the bus node, by udev's persistent links") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "A1");
  const Members wanted{{"vendor", text("0451")}, {"nodes", list({text("tty")})}};
  Scan scan = usb_scan(sysfs, wanted);
  REQUIRE(scan.devices.size() == 1);
  CHECK(scan.devices[0].error ==
        "the USB device at port 1-2 has no tty node: is its driver loaded, and has it been given to another "
        "one?");
  add_tty(sysfs, "1-2", "ttyUSB3", "3");
  CHECK(usb_scan(sysfs, wanted).devices[0].nodes == Nodes{{"/dev/ttyUSB3", "/dev/ttyUSB3", "rw"}});
  sysfs.tree().file("/run/udev/data/c188:3",
                    "S:serial/by-id/usb-A1\nS:serial/by-path/pci-2\nE:ID_SERIAL_SHORT=A1\n");
  CHECK(usb_scan(sysfs, wanted).devices[0].nodes ==
        Nodes{{"/dev/serial/by-id/usb-A1", "/dev/ttyUSB3", "rw"}});
  const Nodes by_path{{"/dev/serial/by-path/pci-2", "/dev/ttyUSB3", "rw"}};
  sysfs.tree().file("/dev/ttyUSB4");
  sysfs.link("/dev/serial/by-id/usb-A1", "/dev/ttyUSB4");  // a device that the entry does not list
  CHECK(usb_scan(sysfs, wanted).devices[0].nodes == by_path);
  sysfs.tree().remove("/dev/serial");
  plug_in(sysfs, "1-3", "f001", "A1");  // a device with the same serial number, but of a different product
  CHECK(usb_scan(sysfs, wanted).devices[0].nodes[0].host_path == "/dev/serial/by-id/usb-A1");
  plug_in(sysfs, "1-4", "f000", "A1");  // the same serial number and product: by-id is ambiguous
  CHECK(usb_scan(sysfs, wanted).devices[0].nodes == by_path);
  CHECK(std::ranges::count(scan.subsystems, "tty") == 1);
  CHECK(std::ranges::count(scan.subsystems, "usb") == 1);
}

TEST_CASE("a device is listed when udev has processed it and all of its nodes") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "A1");
  add_tty(sysfs, "1-2", "ttyUSB0", "0");
  add_tty(sysfs, "1-2", "ttyUSB1", "1");
  sysfs.tree().file("/run/udev/control");
  sysfs.tree().file("/run/udev/data/c188:0");
  const Members wanted{{"vendor", text("0451")}, {"nodes", text("tty")}};
  const Scan early = usb_scan(sysfs, wanted);
  CHECK(early.devices.empty());
  CHECK(early.unfinished == Ids{"/dev/ttyUSB1"});
  CHECK(usb_scan(sysfs, {{"vendor", text("0451")}}).devices.size() == 1);  // without `nodes`
  sysfs.tree().file("/run/udev/data/c188:1");
  CHECK(usb_scan(sysfs, wanted).devices.at(0).nodes.size() == 2);
}

TEST_CASE("a mount path sets the node's path, and attributes name the device") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "A1");
  add_tty(sysfs, "1-2", "ttyUSB0", "0");
  const Scan scan = usb_scan(sysfs, {{"serial", text("A1")},
                                     {"nodes", text("tty")},
                                     {"mountPath", text("/dev/modem")},
                                     {"permissions", text("r")}});
  CHECK(scan.devices.at(0).nodes == Nodes{{"/dev/ttyUSB0", "/dev/modem", "r"}});
  CHECK(*scan.devices[0].attribute("port") == "1-2");
  CHECK(*scan.devices[0].attribute("serial") == "A1");
  CHECK(*scan.devices[0].attribute("path") == "/dev/ttyUSB0");
}

TEST_CASE("a device found by anyOf keeps its port as id when its product and serial number change") {
  const MadeSysfs before;
  plug_in(before, "1-2", "0001", "");
  plug_in(before, "1-3", "0003", "A1");
  plug_in(before, "1-4", "0002", "A2");
  const Members either = {{"anyOf", list({map({{"product", text("0001")}}),
                                          map({{"product", text("0002")}, {"vendor", text("0451")}})})}};
  const Scan first = usb_scan(before, either);
  REQUIRE(ids_of(first) == Ids{"usb-1-2", "usb-1-4"});
  CHECK(*first.devices[0].attribute("product") == "0001");
  const MadeSysfs after;
  plug_in(after, "1-2", "0002", "B7");
  const Scan second = usb_scan(after, either);
  REQUIRE(ids_of(second) == Ids{"usb-1-2"});
  CHECK(*second.devices[0].attribute("product") == "0002");
  CHECK(*second.devices[0].attribute("serial") == "B7");
  CHECK(*second.devices[0].attribute("plainName") == "usb-1-2");
  CHECK(second.remarks.empty());
}

TEST_CASE("keys beside anyOf must match, too, for each alternative of anyOf") {
  const MadeSysfs sysfs;
  for (const char* port : {"1-2", "1-3"}) plug_in(sysfs, port, "0001", "");
  CHECK(ids_of(usb_scan(sysfs, {{"port", text("1-3")},
                                {"anyOf", list({map({{"product", text("0001")}}),
                                                map({{"product", text("0002")}})})}})) == Ids{"usb-1-3"});
  CHECK(
      ids_of(usb_scan(sysfs, {{"vendor", text("1a86")}, {"anyOf", list({map({{"product", text("0001")}})})}}))
          .empty());
}

TEST_CASE("errors of anyOf are found when it is read") {
  const auto problem = [](Node any_of) {
    const Ids found = read_entry("groups", usb({{"anyOf", std::move(any_of)}})).problems;
    return found.size() == 1 ? found[0] : std::to_string(found.size()) + " problems";
  };
  CHECK(problem(list({})).starts_with(
      "resources[0].groups[0].usb[0].anyOf: a list of what the device may be is expected"));
  CHECK(problem(list({map({{"vendor", text("1a6e")}}), map({})}))
            .starts_with("resources[0].groups[0].usb[0].anyOf[1].vendor: select the device by vendor"));
  CHECK(problem(list({map({{"vendor", text("fritz")}})}))
            .starts_with("resources[0].groups[0].usb[0].anyOf[0].vendor: "));
  CHECK(
      problem(list({map({{"vendor", text("1a6e")}, {"nodes", text("tty")}})})).find("unknown key 'nodes'") !=
      std::string::npos);
}

TEST_CASE("with several USB matches in a group, the n-th devices of all matches form one device") {
  const MadeSysfs sysfs;
  plug_in(sysfs, "1-2", "f000", "A1");
  plug_in(sysfs, "1-3", "f001", "B1");
  plug_in(sysfs, "1-4", "f001", "B2");
  const Entry entry = read_entry(
      "groups",
      list({map({{"usb", list({map({{"product", text("f000")}}), map({{"product", text("f001")}})})}})}));
  const Scan scan = entry.source->scan(sysfs.host());
  REQUIRE(ids_of(scan) == Ids{"0451:f000:A1"});
  CHECK(scan.devices[0].nodes.size() == 2);
}

TEST_CASE("errors of a USB match are found when it is read") {
  CHECK(read_entry("groups", usb({})).problems.size() == 1);
  CHECK(read_entry("groups", usb({{"vendor", text("fritz")}})).problems.size() == 1);
  CHECK(read_entry("groups", usb({{"vendor", text("0451")}, {"nodes", text("a/b")}})).problems.size() == 1);
  CHECK(read_entry("groups", usb({{"vendor", text("0451")}, {"mountPath", text("dev/x")}})).problems.size() ==
        1);
}

}  // namespace plughost
