#include <doctest/doctest.h>

#include <algorithm>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/kinds/found.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

const std::string kRoot = "/sys/devices/pci0000:00/";
const std::string kGpu = kRoot + "0000:00:02.0/0000:03:00.0";
const std::string kFpga = kRoot + "0000:00:03.0";

Node one(const std::string& word) { return list({text(word)}); }

Scan scan_of(const MadeSysfs& machine, std::vector<std::pair<std::string, Node>> keys,
             const Choice& choice = {}) {
  const Entry entry = read_entry("pci", map(std::move(keys)));
  REQUIRE(entry.problems == Texts{});
  return entry.source->scan_chosen(machine.host(), taking(choice));
}

void add_card(const MadeSysfs& machine, const std::string& path, const std::string& vendor,
              const std::string& device, const std::string& class_code, const std::string& driver,
              const std::string& numa = "-1") {
  machine.device(path, "pci",
                 {{"vendor", "0x" + vendor},
                  {"device", "0x" + device},
                  {"class", "0x" + class_code},
                  {"numa_node", numa}});
  if (!driver.empty()) machine.bind(path, driver);
}

// Adds a GPU behind a bridge, and an FPGA whose driver creates a node of its own subsystem.
void add_cards(const MadeSysfs& machine) {
  add_card(machine, kRoot + "0000:00:02.0", "8086", "2030", "060400", "pcieport");
  add_card(machine, kGpu, "1002", "73bf", "030000", "amdgpu", "1");
  machine.device(kGpu + "/drm/card0", "drm", {}, {{"DEVNAME", "dri/card0"}});
  machine.device(kGpu + "/drm/renderD128", "drm", {}, {{"DEVNAME", "dri/renderD128"}});
  machine.device(kGpu + "/drm/card0/card0-DP-1", "drm");
  machine.device(kGpu + "/i2c-4/i2c-dev/i2c-4", "i2c-dev", {}, {{"DEVNAME", "i2c-4"}});
  add_card(machine, kFpga, "10ee", "5000", "120000", "xclmgmt");
  machine.device(kFpga + "/xrt_mgmt/xclmgmt768", "xrt_mgmt", {}, {{"DEVNAME", "xclmgmt768"}});
}

void add_group(const MadeSysfs& machine, const std::string& path, const std::string& group) {
  machine.tree().directory("/sys/kernel/iommu_groups/" + group);
  machine.link(path + "/iommu_group", "/sys/kernel/iommu_groups/" + group);
}

TEST_CASE("a card has the nodes of its driver, and its address as id") {
  const MadeSysfs machine;
  add_cards(machine);
  const Scan scan = scan_of(machine, {{"vendors", one("0x1002")}});
  REQUIRE(ids_of(scan) == Texts{"0000:03:00.0"});
  const Device& gpu = scan.devices[0];
  CHECK(gpu.healthy());
  CHECK(nodes_of(gpu) == Texts{"/dev/dri/card0", "/dev/dri/renderD128", "/dev/i2c-4"});
  CHECK(gpu.nodes[0].permissions == "rw");
  CHECK(gpu.numa_nodes == std::vector{1});
  CHECK(value(gpu, "pci") == "0000:03:00.0");
  CHECK(value(gpu, "name") == "card0");
  CHECK(value(gpu, "path") == "/dev/dri/card0");
  CHECK(value(gpu, "vendor") == "1002");
  CHECK(value(gpu, "device") == "73bf");
  CHECK(value(gpu, "class") == "030000");
  CHECK(value(gpu, "driver") == "amdgpu");
  CHECK(value(gpu, "numa") == "1");
  CHECK(value(gpu, "pciInfo") == R"("0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"}})");
  CHECK(scan.remarks.empty());
}

TEST_CASE("NUMA node -1 is none, in the list and for templates") {
  const MadeSysfs machine;
  add_cards(machine);
  const Scan scan = scan_of(machine, {{"vendors", one("10ee")}});
  REQUIRE(scan.devices.size() == 1);
  CHECK(scan.devices[0].numa_nodes.empty());
  CHECK(value(scan.devices[0], "numa") == "(none)");
}

TEST_CASE("`nodes` selects the subsystems whose nodes a container gets") {
  const MadeSysfs machine;
  add_cards(machine);
  const Scan scan =
      scan_of(machine, {{"vendors", one("1002")}, {"nodes", one("drm")}, {"permissions", text("r")}});
  CHECK(nodes_of(scan.devices.at(0)) == Texts{"/dev/dri/card0", "/dev/dri/renderD128"});
  CHECK(scan.devices[0].nodes[0].permissions == "r");
  CHECK(nodes_of(scan_of(machine, {{"vendors", one("1002")}, {"nodes", one("i2c*")}}).devices.at(0)) ==
        Texts{"/dev/i2c-4"});
}

TEST_CASE("pci: one item of each selector has to match, and all selectors") {
  const MadeSysfs machine;
  add_cards(machine);
  const auto ids = [&](std::vector<std::pair<std::string, Node>> keys) {
    return ids_of(scan_of(machine, std::move(keys)));
  };
  CHECK(ids({{"vendors", list({text("1002"), text("10EE")})}}) == Texts{"0000:00:03.0", "0000:03:00.0"});
  CHECK(ids({{"vendors", list({text("1002"), text("10ee")})}, {"devices", one("5000")}}) ==
        Texts{"0000:00:03.0"});
  CHECK(ids({{"vendors", one("1002")}, {"devices", one("5000")}}).empty());
  CHECK(ids({{"classes", one("03")}}) == Texts{"0000:03:00.0"});
  CHECK(ids({{"classes", one("0x0300")}}) == Texts{"0000:03:00.0"});
  CHECK(ids({{"classes", one("0302")}}).empty());
  CHECK(ids({{"drivers", list({text("xclmgmt"), text("amdgpu")})}, {"classes", one("1200")}}) ==
        Texts{"0000:00:03.0"});
}

TEST_CASE("a card without a driver or without a node is Unhealthy until it has both") {
  const MadeSysfs machine;
  add_card(machine, kFpga, "10ee", "5000", "120000", "");
  const auto error = [&] { return scan_of(machine, {{"vendors", one("10ee")}}).devices.at(0).error; };
  CHECK(error() == "no driver is bound to it");
  machine.bind(kFpga, "xclmgmt");
  CHECK(error() == "its driver xclmgmt has made no device node");
  machine.device(kFpga + "/xrt_mgmt/xclmgmt768", "xrt_mgmt", {}, {{"DEVNAME", "xclmgmt768"}});
  CHECK(error().empty());
  machine.remove(kFpga);
  CHECK(scan_of(machine, {{"vendors", one("10ee")}}).devices.empty());
}

TEST_CASE("events of the cards' bus and of their nodes' subsystems are watched") {
  const MadeSysfs machine;
  add_cards(machine);
  const Scan scan =
      scan_of(machine, {{"vendors", one("10ee")}, {"nodes", list({text("xrt*"), text("mei")})}});
  for (const char* subsystem : {"pci", "drm", "misc", "tty", "infiniband_verbs", "vfio", "xrt_mgmt", "mei"}) {
    CAPTURE(subsystem);
    CHECK(std::ranges::count(scan.subsystems, subsystem) == 1);
  }
  CHECK(std::ranges::count(scan.subsystems, "xrt*") == 0);
  CHECK(scan.rescan_after.count() == 0);
}

TEST_CASE("a card for virtual machines has the node of its IOMMU group, and /dev/vfio/vfio") {
  const MadeSysfs machine;
  add_card(machine, kGpu, "10de", "2230", "030000", "vfio-pci");
  const auto card = [&] { return scan_of(machine, {{"vendors", one("10de")}}).devices.at(0); };
  CHECK(card().error.starts_with("it is in no IOMMU group"));
  add_group(machine, kGpu, "42");
  CHECK(card().error == "its IOMMU group 42 has no node in /dev/vfio");
  machine.device("/sys/devices/virtual/vfio/42", "vfio", {}, {{"DEVNAME", "vfio/42"}});
  CHECK(card().healthy());
  CHECK(nodes_of(card()) == Texts{"/dev/vfio/42", "/dev/vfio/vfio"});
  CHECK(card().hardware->units == Texts{kGpu, "iommu_groups/42"});
  CHECK(value(card(), "name") == "42");
  const Scan for_graphics = scan_of(machine, {{"vendors", one("10de")}, {"nodes", one("drm")}});
  CHECK(for_graphics.devices.at(0).error ==
        "its driver vfio-pci has made no device node of the subsystems in `nodes`");
  CHECK(for_graphics.devices[0].nodes.empty());
  CHECK(
      value(card(), "pciInfo") ==
      R"("0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"},"vfio":{"dev-mount":"/dev/vfio/42","mount":"/dev/vfio/vfio"}})");
}

TEST_CASE("a card without an IOMMU has the node /dev/vfio/noiommu-N") {
  const MadeSysfs machine;
  add_card(machine, kGpu, "10de", "2230", "030000", "nvgrace_gpu_vfio_pci");
  add_group(machine, kGpu, "0");
  machine.device("/sys/devices/virtual/vfio/noiommu-0", "vfio", {}, {{"DEVNAME", "vfio/noiommu-0"}});
  const Scan scan = scan_of(machine, {{"vendors", one("10de")}});
  CHECK(nodes_of(scan.devices.at(0)) == Texts{"/dev/vfio/noiommu-0", "/dev/vfio/vfio"});
}

TEST_CASE("cards that cannot be used independently lead to a remark") {
  const MadeSysfs machine;
  const std::string audio = kRoot + "0000:00:02.0/0000:03:00.1";
  add_card(machine, kGpu, "10de", "2230", "030000", "vfio-pci");
  add_card(machine, audio, "10de", "1aef", "040300", "vfio-pci");
  add_group(machine, kGpu, "42");
  add_group(machine, audio, "42");
  const Scan both = scan_of(machine, {{"vendors", one("10de")}});
  CHECK(ids_of(both).size() == 2);
  REQUIRE(both.remarks.size() == 1);
  CHECK(both.remarks[0].starts_with("0000:03:00.1 and 0000:03:00.0 are in one IOMMU group, 42"));
  CHECK(scan_of(machine, {{"vendors", one("10de")}, {"classes", one("03")}}).remarks.empty());
}

TEST_CASE("cards that the entry leaves out lead to no remark") {
  const MadeSysfs machine;
  for (const char* n : {"0", "1", "2"}) {
    const std::string card = kRoot + "0000:00:02.0/0000:03:00." + n;
    add_card(machine, card, "10de", "2230", "030000", "vfio-pci");
    add_group(machine, card, "42");
  }
  const auto without = [&](std::vector<std::string> addresses) {
    return scan_of(machine, {{"vendors", one("10de")}},
                   {.only = {}, .except = {{.attributes = {{"pci", addresses}}, .where = {}}}});
  };
  CHECK(value(without({"none"}).devices.at(0), "iommuGroup") == "42");
  CHECK(without({"none"}).remarks.size() == 2);
  REQUIRE(without({"0000:03:00.0"}).remarks.size() == 1);
  CHECK(without({"0000:03:00.0"}).remarks[0].starts_with("0000:03:00.2 and 0000:03:00.1 are in one"));
  CHECK(without({"0000:03:00.0", "0000:03:00.2"}).remarks.empty());
}

TEST_CASE(
    "virtual functions are listed as cards, and cause a remark if their physical function is listed, too") {
  const MadeSysfs machine;
  const std::string physical = kRoot + "0000:00:02.0/0000:05:00.0";
  const std::string virtual_one = kRoot + "0000:00:02.0/0000:05:00.1";
  add_card(machine, physical, "15b3", "1017", "020000", "mlx5_core");
  add_card(machine, virtual_one, "15b3", "1018", "020000", "mlx5_core");
  machine.link(virtual_one + "/physfn", physical);
  const Scan both = scan_of(machine, {{"vendors", one("15b3")}});
  CHECK(ids_of(both) == Texts{"0000:05:00.0", "0000:05:00.1"});
  REQUIRE(both.remarks.size() == 1);
  CHECK(both.remarks[0].starts_with("0000:05:00.0 is listed together with virtual functions of its own"));
  CHECK(value(both.devices[1], "physfn") == "0000:05:00.0");
  CHECK(value(both.devices[0], "physfn") == "(none)");
  CHECK(value(both.devices[0], "vfs") == "(none)");
  machine.attribute(physical, "sriov_numvfs", "0");
  CHECK(value(scan_of(machine, {{"devices", one("1017")}}).devices.at(0), "vfs") == "(none)");
  machine.attribute(physical, "sriov_numvfs", "1");
  CHECK(value(scan_of(machine, {{"devices", one("1017")}}).devices.at(0), "vfs") == "1");
  const Scan named = scan_of(machine, {{"devices", list({text("1017"), text("1018")})}});
  CHECK(named.remarks == both.remarks);
  const Choice divided{.only = {}, .except = {{.attributes = {{"vfs", {"*"}}}, .where = {}}}};
  CHECK(ids_of(scan_of(machine, {{"vendors", one("15b3")}}, divided)) == Texts{"0000:05:00.1"});
  const Choice whole{.only = {}, .except = {{.attributes = {{"physfn", {"*"}}}, .where = {}}}};
  CHECK(ids_of(scan_of(machine, {{"vendors", one("15b3")}}, whole)) == Texts{"0000:05:00.0"});
  CHECK(scan_of(machine, {{"vendors", one("15b3")}}, whole).remarks.empty());
  const Scan only_virtual = scan_of(machine, {{"devices", one("1018")}});
  CHECK(ids_of(only_virtual) == Texts{"0000:05:00.1"});
  CHECK(only_virtual.remarks.empty());
}

TEST_CASE("a virtual function has its number and the interface of its physical function") {
  const MadeSysfs machine;
  const std::string physical = kRoot + "0000:00:02.0/0000:05:00.0";
  add_card(machine, physical, "15b3", "1017", "020000", "mlx5_core");
  machine.device(physical + "/net/ens1f0", "net");
  for (const char* address : {"0000:05:00.1", "0000:05:00.2"}) {
    const std::string function = kRoot + "0000:00:02.0/" + address;
    add_card(machine, function, "15b3", "1018", "020000", "vfio-pci");
    machine.link(function + "/physfn", physical);
  }
  machine.link(physical + "/virtfn0", kRoot + "0000:00:02.0/0000:05:00.2");
  machine.link(physical + "/virtfn1", kRoot + "0000:00:02.0/0000:05:00.1");
  const Scan all = scan_of(machine, {{"vendors", one("15b3")}});
  REQUIRE(all.devices.size() == 3);
  for (const Device& device : all.devices) CHECK(value(device, "pfName") == "ens1f0");
  CHECK(value(all.devices[0], "vf") == "(none)");
  CHECK(value(all.devices[1], "vf") == "1");
  CHECK(value(all.devices[2], "vf") == "0");
  const Choice first{.only = {{.attributes = {{"pfName", {"ens1f0"}}, {"vf", {"0"}}}, .where = {}}},
                     .except = {}};
  CHECK(ids_of(scan_of(machine, {{"vendors", one("15b3")}}, first)) == Texts{"0000:05:00.2"});
}

TEST_CASE("in switchdev mode a card's interfaces are its own ports, and representors are left out") {
  const MadeSysfs machine;
  const std::string physical = kRoot + "0000:00:02.0/0000:05:00.0";
  add_card(machine, physical, "15b3", "1017", "020000", "mlx5_core");
  const std::pair<const char*, const char*> interfaces[] = {
      {"ens1f0", "p0"}, {"ens1f0_0", "pf0vf0"}, {"ens1f0_1", "c1pf0vf1"}, {"en7f0pf0sf88", "pf0sf88"}};
  for (const auto& [name, port] : interfaces)
    machine.device(physical + "/net/" + name, "net", {{"phys_port_name", port}});
  const auto pf_name = [&] {
    return value(scan_of(machine, {{"devices", one("1017")}}).devices.at(0), "pfName");
  };
  CHECK(pf_name() == "ens1f0");
  machine.device(physical + "/net/ens1f0s1", "net", {{"phys_port_name", "p0s1"}});
  machine.device(physical + "/net/ens1f9", "net");
  CHECK(pf_name() == "ens1f0,ens1f0s1,ens1f9");
  for (const char* representor : {"p", "px", "p0s", "psf1", "vf0"}) {
    CAPTURE(representor);
    machine.attribute(physical + "/net/ens1f9", "phys_port_name", representor);
    CHECK(pf_name() == "ens1f0,ens1f0s1");
  }
}

TEST_CASE("bridges and cards with virtual functions are not matched by vendor, driver or class alone") {
  const MadeSysfs machine;
  const std::string bridge = kRoot + "0000:00:02.0";
  const std::string physical = bridge + "/0000:05:00.0";
  add_card(machine, bridge, "15b3", "1979", "060400", "pcieport");
  add_card(machine, physical, "15b3", "1017", "020000", "mlx5_core");
  machine.attribute(physical, "sriov_numvfs", "4");
  add_card(machine, bridge + "/0000:05:00.1", "15b3", "1018", "020000", "mlx5_core");
  const Scan vendor = scan_of(machine, {{"vendors", one("15b3")}});
  CHECK(ids_of(vendor) == Texts{"0000:05:00.1"});
  REQUIRE(vendor.remarks.size() == 1);
  CHECK(vendor.remarks[0].find("also have the devices behind it: 0000:00:02.0, 0000:05:00.0; to list it") !=
        std::string::npos);
  CHECK(ids_of(scan_of(machine, {{"drivers", one("mlx5_core")}})) == Texts{"0000:05:00.1"});
  CHECK(ids_of(scan_of(machine, {{"classes", one("02")}})) == Texts{"0000:05:00.1"});
  CHECK(ids_of(scan_of(machine, {{"classes", one("0604")}})) == Texts{"0000:00:02.0"});
  CHECK(ids_of(scan_of(machine, {{"devices", list({text("1979"), text("1017")})}})) ==
        Texts{"0000:00:02.0", "0000:05:00.0"});
}

TEST_CASE(
    "events of network interfaces are watched if there are virtual functions, which have an interface's "
    "name") {
  const MadeSysfs machine;
  const std::string physical = kRoot + "0000:00:02.0/0000:05:00.0";
  add_card(machine, physical, "15b3", "1017", "020000", "mlx5_core");
  const auto follows_net = [&] {
    return std::ranges::count(scan_of(machine, {{"vendors", one("15b3")}}).subsystems, "net") == 1;
  };
  CHECK_FALSE(follows_net());
  machine.attribute(physical, "sriov_numvfs", "1");
  add_card(machine, kRoot + "0000:00:02.0/0000:05:00.1", "15b3", "1018", "020000", "vfio-pci");
  machine.link(kRoot + "0000:00:02.0/0000:05:00.1/physfn", physical);
  CHECK(follows_net());
}

TEST_CASE("errors of `pci` are found when it is read") {
  const auto problems = [](std::vector<std::pair<std::string, Node>> keys) {
    return read_entry("pci", map(std::move(keys))).problems.size();
  };
  CHECK(problems({}) == 1);
  CHECK(problems({{"vendors", one("15b3")}}) == 0);
  CHECK(problems({{"vendor", one("15b3")}, {"classes", one("03")}}) == 1);
  CHECK(problems({{"vendors", one("nvidia")}}) == 1);
  for (const char* wrong : {"3", "030", "030000ff", "0x", "", "gpu"}) {
    CAPTURE(wrong);
    CHECK(problems({{"classes", one(wrong)}}) == 1);
  }
  CHECK(problems({{"drivers", one("vfio-pci")}, {"nodes", one("a/b")}}) == 1);
  CHECK(problems({{"drivers", one("vfio-pci")}, {"permissions", text("x")}}) == 1);
}

}  // namespace
}  // namespace plughost
