// Tests `only`, `except` and `replicas`: which devices of a simulated machine an entry with these keys lists.

#include "config/read_entry.hpp"

#include <doctest/doctest.h>

#include "model/device/assembly.hpp"
#include "unit/config/config_of.hpp"
#include "unit/host/hardware/made_sysfs.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

// Returns the ids that an entry with these keys lists, each with the number of replicas if more than one.
Texts listed(const MadeSysfs& machine, const std::string& keys) {
  const Config config = config_of("resources:\n- {name: x.com/x, " + keys + "}\n");
  const ResourceConfig& entry = config.resources.at(0);
  Scan scan = entry.source->scan_chosen(machine.host(), *entry.spec);
  Texts ids;
  const Assembly assembly = assemble(*entry.spec, std::move(scan.devices));
  for (const Device& device : assembly.resources.at("x.com/x"))
    ids.push_back(device.id + (device.replicas > 1 ? "*" + std::to_string(device.replicas) : ""));
  return ids;
}

const std::string kRoot = "/sys/devices/pci0000:00/";

void add_card(const MadeSysfs& machine, const std::string& address, const std::string& vendor,
              const std::string& class_code, const std::string& driver) {
  machine.device(kRoot + address, "pci",
                 {{"vendor", "0x" + vendor}, {"device", "0x1017"}, {"class", "0x" + class_code}});
  machine.bind(kRoot + address, driver);
}

TEST_CASE("PCI cards are chosen by their addresses") {
  const MadeSysfs machine;
  add_card(machine, "0000:03:00.0", "10ee", "120000", "xclmgmt");
  add_card(machine, "0000:04:00.0", "10ee", "120000", "xclmgmt");
  CHECK(listed(machine, "pci: {vendors: [10ee]}, only: [{pci: \"0000:03:*\"}]") == Texts{"0000:03:00.0"});
  CHECK(listed(machine, "pci: {vendors: [10ee]}, except: [{pci: \"0000:03:00.0\"}]") ==
        Texts{"0000:04:00.0"});
}

TEST_CASE("GPUs are chosen by their drivers") {
  const MadeSysfs machine;
  add_card(machine, "0000:03:00.0", "8086", "030000", "i915");
  add_card(machine, "0000:04:00.0", "8086", "038000", "xe");
  CHECK(listed(machine, "gpu: {vendor: intel}, only: [{driver: xe}]") == Texts{"0000:04:00.0"});
}

TEST_CASE("RDMA cards are chosen by their names") {
  const MadeSysfs machine;
  for (const std::string n : {"0", "1"}) {
    const std::string address = "0000:0" + n + ":00.0";
    add_card(machine, address, "15b3", "020700", "mlx5_core");
    machine.device(kRoot + address + "/infiniband/mlx5_" + n, "infiniband", {{"node_guid", "1:2:3:" + n}});
  }
  CHECK(listed(machine, "rdma: {portState: ignore}, except: [{name: mlx5_0}]") == Texts{"0000:01:00.0"});
}

TEST_CASE("USB devices of a group are chosen by their serial numbers and ports") {
  const MadeSysfs machine;
  for (const std::string n : {"1", "2", "3"})
    machine.device(kRoot + "0000:00:14.0/usb1/1-" + n, "usb",
                   {{"idVendor", "1a86"}, {"idProduct", "7523"}, {"serial", "S" + n}},
                   {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/00" + n}});
  const std::string adapters = "groups: [{usb: [{vendor: \"1a86\", product: \"7523\"}]}]";
  CHECK(listed(machine, adapters + ", only: [{serial: [S1, S3]}], except: [{port: 1-3}]") ==
        Texts{"1a86:7523:S1"});
}

TEST_CASE("udev devices and files of a directory are chosen by their placeholders") {
  const MadeSysfs machine;
  for (const std::string n : {"0", "1"})
    machine.device("/sys/devices/virtual/video4linux/video" + n, "video4linux", {},
                   {{"DEVNAME", "video" + n}});
  CHECK(listed(machine, "udev: {subsystem: video4linux}, except: [{path: /dev/video0}]") == Texts{"video1"});
  machine.tree().file("/etc/gophers/amy");
  machine.tree().file("/etc/gophers/bob");
  CHECK(listed(machine, "directory: {path: /etc/gophers}, only: [{name: a*}]") == Texts{"amy"});
}

TEST_CASE("the devices of a program are chosen by the attributes that the entry declares") {
  const std::string zones =
      R"(exec: {attributes: [zone], discover: [/bin/echo, '{"devices": [{"id": "a", "attributes": {"zone": "z1"}}, )"
      R"({"id": "b"}]}']})";
  CHECK(listed(MadeSysfs(), zones + ", only: [{zone: z1}]") == Texts{"a"});
  CHECK(listed(MadeSysfs(), zones + ", only: {id: b}") == Texts{"b"});
  CHECK_THROWS(listed(MadeSysfs(), zones + ", only: [{zones: z1}]"));
}

// A machine whose directory /etc/cards has a file for each device name.
struct Files {
  MadeSysfs machine;

  explicit Files(const Texts& names) {
    for (const std::string& name : names) machine.tree().file("/etc/cards/" + name);
  }
  Texts with(const std::string& keys) const {
    return listed(machine, "directory: {path: /etc/cards}, " + keys);
  }
};

TEST_CASE("a map of replicas names devices, or patterns of their names") {
  const Files cards({"L4", "T4-a", "T4-b", "V100"});
  CHECK(cards.with("replicas: {\"*T4*\": 2, \"*L4*\": 4}") == Texts{"L4*4", "T4-a*2", "T4-b*2", "V100"});
  CHECK(cards.with("replicas: {default: 3, \"T4*\": 2}") == Texts{"L4*3", "T4-a*2", "T4-b*2", "V100*3"});
}

TEST_CASE("`replicas` names devices by id, uuid, pci, index or name only") {
  const std::string cards =
      R"(exec: {attributes: [uuid, pci, index, name, zone], discover: [/bin/echo, '{"devices": [)"
      R"({"id": "a", "attributes": {"uuid": "U1"}}, {"id": "b", "attributes": {"pci": "P1"}}, )"
      R"({"id": "c", "attributes": {"index": "7"}}, {"id": "d", "attributes": {"name": "N1"}}, )"
      R"({"id": "e"}, {"id": "f", "attributes": {"zone": "Z1"}}]}']})";
  CHECK(listed(MadeSysfs(), cards + ", replicas: {U1: 2, P1: 3, \"7\": 4, N1: 5, e: 6, Z1: 9}") ==
        Texts{"a*2", "b*3", "c*4", "d*5", "e*6", "f"});
}

TEST_CASE(
    "in a `replicas` map a name has priority over patterns, and of several matching patterns the smallest "
    "number counts") {
  const Files cards({"T4-a", "T4-b"});
  CHECK(cards.with("replicas: {\"T4*\": 2, T4-a: 7}") == Texts{"T4-a*7", "T4-b*2"});
  CHECK(cards.with("replicas: {\"*\": 5, \"T4-?\": 2, \"T*\": 4}") == Texts{"T4-a*2", "T4-b*2"});
  CHECK(Files({"a[0]"}).with("replicas: {\"a[0]\": 3}") == Texts{"a[0]*3"});
}

TEST_CASE("the items of a `replicas` list can select by any attribute, and the first matching item counts") {
  const Files cards({"L4", "T4-a", "T4-b"});
  CHECK(cards.with("replicas: [{only: {path: /etc/cards/T4-a}, count: 2}, {only: [{name: T4*}, {id: x}], "
                   "count: 4}, {count: 6}]") == Texts{"L4*6", "T4-a*2", "T4-b*4"});
  CHECK(cards.with("replicas: [{only: {name: L4}, count: 2}]") == Texts{"L4*2", "T4-a", "T4-b"});
}

TEST_CASE("devices that `except` leaves out get no position in the entry") {
  const Files cards({"a", "b", "c"});
  CHECK(cards.with("except: [{name: a}], id: \"card-{n}\"") == Texts{"card-0", "card-1"});
}

TEST_CASE("each selection of an entry has the path of its key, for messages") {
  const Config config = config_of(
      "resources:\n- name: x.com/x\n  directory: {path: /etc}\n  only: {name: a}\n  except: [{name: b}, {id: "
      "c}]\n  replicas: {\"*T4*\": 2}\n- {name: x.com/y, directory: {path: /etc}, replicas: [{only: {id: a}, "
      "count: 2}]}\n");
  const AllocationSpec& spec = *config.resources.at(0).spec;
  CHECK(spec.choice.only.at(0).where == "only");
  CHECK(spec.choice.except.at(1).where == "except[1]");
  CHECK(spec.replicas_of.at(0).where == "replicas.*T4*");
  CHECK(config.resources.at(1).spec->replicas_of.at(0).where == "replicas[0]");
}

}  // namespace
}  // namespace plughost
