#include "host/hardware/sysfs.hpp"

#include <doctest/doctest.h>

#include "unit/host/hardware/made_sysfs.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

const std::string kCard = "/sys/devices/pci0000:00/0000:00:14.0";
const std::string kHub = kCard + "/usb1/1-1";
const std::string kDongle = kHub + "/1-1.4";
const std::string kTty = kDongle + "/1-1.4:1.0/ttyUSB0/tty/ttyUSB0";

// A simulated machine with a USB serial adapter behind a hub.
struct Made : MadeSysfs {
  Made() {
    device(kCard, "pci", {{"vendor", "0x8086"}, {"numa_node", "1"}});
    device(kCard + "/usb1", "usb", {}, {{"DEVTYPE", "usb_device"}});
    device(kHub, "usb", {{"idVendor", "05e3"}}, {{"DEVTYPE", "usb_device"}});
    device(kDongle, "usb", {{"idVendor", "1a86"}},
           {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/004"}, {"MAJOR", "189"}, {"MINOR", "3"}});
    device(kDongle + "/1-1.4:1.0", "usb", {}, {{"DEVTYPE", "usb_interface"}});
    device(kTty, "tty", {}, {{"DEVNAME", "ttyUSB0"}, {"MAJOR", "188"}, {"MINOR", "0"}});
  }
};

SysDevice device_at(const HostRoot& host, const std::string& path) {
  const std::optional<SysDevice> device = SysDevice::at(host, path);
  REQUIRE(device);
  return *device;
}

Texts paths_of(const std::vector<SysDevice>& devices) {
  Texts paths;
  for (const SysDevice& device : devices) paths.push_back(device.path());
  return paths;
}

}  // namespace

TEST_CASE("devices are found by subsystem, and by the path of a link to them") {
  const Made sysfs;
  const HostRoot host = sysfs.host();
  CHECK(paths_of(devices_of(host, "tty")) == Texts{kTty});
  CHECK(paths_of(devices_of(host, "usb")) == Texts{kHub, kDongle, kDongle + "/1-1.4:1.0", kCard + "/usb1"});
  CHECK(devices_of(host, "no-such-subsystem").empty());
  CHECK(SysDevice::at(host, "/sys/class/tty/ttyUSB0")->path() == kTty);
  CHECK_FALSE(SysDevice::at(host, "/sys/class/tty/ttyUSB1"));
}

TEST_CASE("a device reports its attributes") {
  const Made sysfs;
  const HostRoot host = sysfs.host();
  const SysDevice dongle = device_at(host, kDongle);
  CHECK(dongle.name() == "1-1.4");
  CHECK(dongle.subsystem() == "usb");
  CHECK(dongle.driver().empty());
  CHECK(dongle.attribute("idVendor") == "1a86");
  CHECK_FALSE(dongle.attribute("serial"));
  CHECK_FALSE(dongle.attribute("1-1.4:1.0"));  // a directory
  CHECK(dongle.node() == "/dev/bus/usb/001/004");
  CHECK(dongle.property("DEVPATH") == kDongle.substr(4));
  CHECK(dongle.property("DEVNAME") == "/dev/bus/usb/001/004");
  CHECK(dongle.property("NO_SUCH").empty());
  sysfs.bind(kCard, "xhci_hcd");
  CHECK(device_at(host, kCard).driver() == "xhci_hcd");
  CHECK(device_at(host, kCard).attribute("driver") == "xhci_hcd");
  sysfs.device("/sys/devices/virtual/block/cciss!c0d0", "block");
  CHECK(devices_of(host, "block").at(0).name() == "cciss/c0d0");
}

TEST_CASE("udev's database adds properties, links and tags") {
  const Made sysfs;
  const HostRoot host = sysfs.host();
  CHECK(device_at(host, kTty).links().empty());
  sysfs.tree().file(
      "/run/udev/data/c188:0",
      "S:serial/by-path/pci-0000:00:14.0\nS:serial/by-id/usb-A1\nE:ID_SERIAL_SHORT=A1\nE:A=b=c\n"
      "G:systemd\nQ:systemd\nV:1\n");
  const SysDevice tty = device_at(host, kTty);
  CHECK(tty.links() == Texts{"/dev/serial/by-id/usb-A1", "/dev/serial/by-path/pci-0000:00:14.0"});
  CHECK(tty.tags() == Texts{"systemd"});
  CHECK(tty.property("ID_SERIAL_SHORT") == "A1");
  CHECK(tty.property("A") == "b=c");
  // udev names the database entry of a device without a node by subsystem and name, and of a network
  // interface by index.
  sysfs.tree().file("/run/udev/data/+usb:1-1.4:1.0", "E:ID_USB_DRIVER=ch341\n");
  CHECK(device_at(host, kDongle + "/1-1.4:1.0").property("ID_USB_DRIVER") == "ch341");
  sysfs.device("/sys/devices/virtual/net/eth0", "net", {}, {{"IFINDEX", "7"}});
  sysfs.tree().file("/run/udev/data/n7", "E:ID_NET_NAME=lan\n");
  CHECK(devices_of(host, "net").at(0).property("ID_NET_NAME") == "lan");
}

TEST_CASE(
    "udev has finished a device with a node, or a network interface, when udev's database has an entry for "
    "it") {
  const Made sysfs;
  sysfs.device("/sys/devices/virtual/net/eth0", "net", {}, {{"IFINDEX", "7"}});
  const HostRoot host = sysfs.host();
  const auto finished = [&](const std::string& path) { return device_at(host, path).finished(); };
  CHECK(finished(kTty));  // true without udevd
  sysfs.tree().file("/run/udev/control");
  CHECK_FALSE(finished(kTty));
  CHECK_FALSE(finished("/sys/devices/virtual/net/eth0"));
  CHECK(finished(kDongle + "/1-1.4:1.0"));
  sysfs.tree().file("/run/udev/data/c188:0");
  sysfs.tree().file("/run/udev/data/n7");
  CHECK(finished(kTty));
  CHECK(finished("/sys/devices/virtual/net/eth0"));
  CHECK(device_at(host, kTty).finishes_at() == WatchedDirectory{.path = "/run/udev/data", .name = "c188:0"});
}

TEST_CASE("the device behind a node is found by the node's number, whatever its name") {
  const Made sysfs;
  sysfs.device("/sys/devices/virtual/mem/null", "mem", {}, {{"MAJOR", "1"}, {"MINOR", "3"}});
  sysfs.tree().link("/dev/serial/by-id/a", "../../nothing");
  sysfs.tree().link("/dev/nothing", "/dev/null");  // the real /dev/null
  sysfs.tree().link("/dev/unknown", "/dev/zero");
  sysfs.tree().file("/dev/file");
  const HostRoot host = sysfs.host();
  CHECK(SysDevice::behind(host, "/dev/serial/by-id/a")->path() == "/sys/devices/virtual/mem/null");
  for (const char* path : {"/dev/unknown", "/dev/file", "/dev/missing"})
    CHECK_FALSE(SysDevice::behind(host, path));
}

TEST_CASE("the parents of a device, and the NUMA node of one of them, are found") {
  const Made sysfs;
  const HostRoot host = sysfs.host();
  const SysDevice tty = device_at(host, kTty);
  CHECK(tty.parent()->path() == kDongle + "/1-1.4:1.0");
  CHECK(tty.parent("usb")->path() == kDongle + "/1-1.4:1.0");
  CHECK(tty.parent("usb", "usb_device")->path() == kDongle);
  CHECK(tty.parent("pci")->path() == kCard);
  CHECK_FALSE(tty.parent("scsi"));
  CHECK(tty.numa_node() == 1);
  sysfs.attribute(kCard, "numa_node", "-1");
  CHECK_FALSE(tty.numa_node());
}

TEST_CASE("the search downwards ends at the next device of the same kind") {
  const Made sysfs;
  const HostRoot host = sysfs.host();
  CHECK(paths_of(device_at(host, kDongle).below("tty")) == Texts{kTty});
  CHECK(device_at(host, kHub).below("tty").empty());
  CHECK(paths_of(device_at(host, kCard).below("tty")) == Texts{kTty});
}

}  // namespace plughost
