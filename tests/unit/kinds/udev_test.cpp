#include <doctest/doctest.h>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;
using Ids = std::vector<std::string>;
using Nodes = std::vector<DeviceNode>;
using Members = std::vector<std::pair<std::string, Node>>;

const std::string kUsb = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2";
const std::string kVideo = kUsb + "/1-2:1.0/video4linux/video";

// A machine with a camera that has a node for images and one for metadata, and a virtual camera.
struct Made : MadeSysfs {
  Made() {
    device(kUsb, "usb", {{"idVendor", "046d"}, {"idProduct", "0825"}}, {{"DEVTYPE", "usb_device"}});
    for (const char* n : {"0", "1"}) {
      device(kVideo + n, "video4linux", {{"index", n}, {"name", "HD Webcam"}},
             {{"DEVNAME", std::string("video") + n}, {"MAJOR", "81"}, {"MINOR", n}});
      tree().file(std::string("/run/udev/data/c81:") + n,
                  std::string("S:v4l/by-id/usb-046d-index") + n + "\nS:v4l/by-path/pci-0000-index" + n +
                      "\nE:ID_VENDOR_ID=046d\nE:ID_SERIAL_SHORT=S1\nG:seat\n");
    }
    device("/sys/devices/virtual/video4linux/video9", "video4linux", {{"name", "Loopback"}},
           {{"DEVNAME", "video9"}});
  }
};

Scan udev_scan(const MadeSysfs& sysfs, Members keys) {
  keys.emplace_back("subsystem", text("video4linux"));
  const Entry entry = read_entry("udev", map(std::move(keys)));
  REQUIRE(entry.problems == Ids{});
  return entry.source->scan(sysfs.host());
}

Ids ids(const MadeSysfs& sysfs, Members keys) { return ids_of(udev_scan(sysfs, std::move(keys))); }

Ids problems(Members keys) { return read_entry("udev", map(std::move(keys))).problems; }

}  // namespace

TEST_CASE("every device of the subsystem is listed, by its most persistent name") {
  const Made sysfs;
  const Scan scan = udev_scan(sysfs, {});
  CHECK(ids_of(scan) == Ids{"usb-046d-index0", "usb-046d-index1", "video9"});
  CHECK(scan.devices[0].nodes == Nodes{{"/dev/v4l/by-id/usb-046d-index0", "/dev/video0", "rw"}});
  CHECK(scan.devices[2].nodes == Nodes{{"/dev/video9", "/dev/video9", "rw"}});
  CHECK(scan.subsystems == Ids{"video4linux"});
  CHECK(*scan.devices[0].attribute("vendor") == "046d");
  CHECK(scan.devices[0].hardware->units == Ids{kVideo + "0"});
  CHECK(*scan.devices[0].attribute("name") == "video0");
  CHECK(*scan.devices[0].attribute("link") == "/dev/v4l/by-id/usb-046d-index0");
}

TEST_CASE("udev matches by name, attributes, properties, tags, and attributes of one parent") {
  const Made sysfs;
  CHECK(ids(sysfs, {{"name", text("video[19]")}}) == Ids{"usb-046d-index1", "video9"});
  CHECK(ids(sysfs, {{"attributes", map({{"index", text("0")}})}}) == Ids{"usb-046d-index0"});
  CHECK(ids(sysfs, {{"attributes", map({{"name", text("HD *")}, {"index", text("1")}})}}) ==
        Ids{"usb-046d-index1"});
  CHECK(ids(sysfs, {{"properties", map({{"ID_VENDOR_ID", text("046d")}})}}).size() == 2);
  CHECK(ids(sysfs, {{"properties", map({{"ID_VENDOR_ID", text("0000")}})}}).empty());
  CHECK(ids(sysfs, {{"tags", text("seat")}}).size() == 2);
  CHECK(ids(sysfs, {{"tags", list({text("seat"), text("other")})}}).empty());
  const auto parents = [](const char* vendor, const char* product) {
    return Members{{"attributesOfParents", map({{"idVendor", text(vendor)}, {"idProduct", text(product)}})}};
  };
  CHECK(ids(sysfs, parents("046d", "08*")).size() == 2);
  CHECK(ids(sysfs, parents("046d", "0000")).empty());
}

TEST_CASE("a vendor does not match a USB hub, because others are plugged into it") {
  const MadeSysfs sysfs;
  for (const char* port : {"1-2", "1-3"})
    sysfs.device(
        std::string("/sys/devices/usb1/") + port, "usb",
        {{"idVendor", "05e3"}, {"idProduct", "0608"}, {"bDeviceClass", port[2] == '2' ? "09" : "00"}},
        {{"DEVTYPE", "usb_device"}});
  const auto found = [&](Members keys) {
    keys.emplace_back("subsystem", text("usb"));
    const Entry entry = read_entry("udev", map(std::move(keys)));
    return ids_of(entry.source->scan_chosen(sysfs.host(), {}));
  };
  const auto with = [](const char* key, const char* name, const char* value) {
    return Members{{key, map({{name, text(value)}})}};
  };
  CHECK(found({}) == Ids{"1-3"});
  CHECK(found(with("attributes", "idVendor", "05e3")) == Ids{"1-3"});
  CHECK(found(with("attributesOfParents", "idVendor", "05e3")) == Ids{"1-3"});
  CHECK(found(with("properties", "DEVTYPE", "usb_device")) == Ids{"1-3"});
  CHECK(found(with("attributes", "idProduct", "0608")) == Ids{"1-2", "1-3"});
  CHECK(found(with("attributesOfParents", "idProduct", "0608")) == Ids{"1-2", "1-3"});
  CHECK(found({{"name", text("1-2")}}) == Ids{"1-2"});
}

TEST_CASE("a network interface can move to a network namespace, and other devices cannot") {
  const Made sysfs;
  const std::string eth0 = "/sys/devices/pci0000:00/0000:03:00.0/net/eth0";
  sysfs.device(eth0, "net");
  const Entry entry = read_entry("udev", map({{"subsystem", text("net")}}));
  CHECK(entry.source->scan(sysfs.host()).devices.at(0).hardware->in_namespace ==
        Ids{"/sys/devices/pci0000:00/0000:03:00.0/net"});
  CHECK(udev_scan(sysfs, {}).devices.at(0).hardware->in_namespace.empty());
}

TEST_CASE("of two devices with the same serial number the ids by place are their ports") {
  const Made sysfs;
  sysfs.tree().file("/run/udev/data/c81:1",
                    "S:v4l/by-id/usb-046d-index0\nS:v4l/by-path/pci-0000-index1\nE:ID_SERIAL_SHORT=S1\n");
  const Scan scan = udev_scan(sysfs, {{"name", text("video[01]")}});
  CHECK(ids_of(scan) == Ids{"usb-046d-index0", "usb-046d-index0"});
  CHECK(*scan.devices.at(0).attribute_at_place("id") == "pci-0000-index0");
  CHECK(*scan.devices.at(1).attribute_at_place("id") == "pci-0000-index1");
  CHECK(scan.devices[1].nodes.at(0).host_path == "/dev/v4l/by-path/pci-0000-index1");
}

TEST_CASE("a device is listed only after udev has processed it, so that its name does not change") {
  const Made sysfs;
  sysfs.tree().file("/run/udev/control");
  sysfs.tree().remove("/run/udev/data/c81:1");
  const Scan scan = udev_scan(sysfs, {});
  CHECK(ids_of(scan) == Ids{"usb-046d-index0", "video9"});
  CHECK(scan.unfinished == Ids{"/dev/video1"});
  CHECK(scan.watch == std::vector<WatchedDirectory>{{.path = "/run/udev/data", .name = "c81:1"}});
  CHECK(udev_scan(sysfs, {{"name", text("video0")}}).unfinished.empty());
  // The attributes from the kernel already exclude the device.
  for (const char* key : {"attributes", "attributesOfParents"})
    CHECK(udev_scan(sysfs, {{key, map({{"index", text("7")}})}}).unfinished.empty());
}

TEST_CASE("links: the container also gets udev's names") {
  const Made sysfs;
  const Scan scan =
      udev_scan(sysfs, {{"name", text("video0")}, {"links", text("true")}, {"permissions", text("r")}});
  CHECK(scan.devices.at(0).nodes ==
        Nodes{{"/dev/v4l/by-id/usb-046d-index0", "/dev/video0", "r"},
              {"/dev/v4l/by-id/usb-046d-index0", "/dev/v4l/by-id/usb-046d-index0", "r"},
              {"/dev/v4l/by-path/pci-0000-index0", "/dev/v4l/by-path/pci-0000-index0", "r"}});
}

TEST_CASE("errors of a udev match are found when it is read") {
  CHECK(problems({}).size() == 1);
  CHECK(problems({{"subsystem", text("a/b")}}).size() == 1);
  CHECK(problems({{"subsystem", text("tty")}, {"attributes", map({{"../secret", text("*")}})}}).size() == 1);
  CHECK(problems({{"subsystem", text("tty")}, {"attributes", text("x")}}).size() == 1);
  CHECK(problems({{"subsystem", text("tty")}, {"attributes", map({{"a", list({text("x")})}})}}).size() == 1);
}

}  // namespace plughost
