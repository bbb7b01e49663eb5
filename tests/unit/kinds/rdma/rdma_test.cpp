// Tests the kind `rdma`.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "base/system/event_loop.hpp"
#include "model/allocate/allocation.hpp"
#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/kinds/found.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Keys = std::vector<std::pair<std::string, Node>>;
using Texts = std::vector<std::string>;

constexpr const char* kFirst = "0000:03:00.0";
constexpr const char* kSecond = "0000:81:00.0";
const std::string kVirtual = "/sys/devices/virtual/";

// An entry of kind rdma on a simulated machine, with a clock that the test advances.
class Rig {
 public:
  MadeSysfs machine;

  explicit Rig(Keys keys = {}) { configure(std::move(keys)); }

  void configure(Keys keys) {
    const Node node = map({{"name", text("rdma/hca")}, {"rdma", map(std::move(keys))}});
    Diagnostics diagnostics;
    {
      Fields fields(node, "resources[0]", diagnostics);
      fields.text("name", "");
      source_ = std::ranges::find(kinds(), "rdma", &Kind::key)->read(fields);
    }
    for (const Diagnostic& diagnostic : diagnostics.all()) FAIL(diagnostic.what);
  }

  Scan scan(const Choice& choice = {}) const { return source_->scan_chosen(machine.host(), taking(choice)); }
  // Scans, and returns the only device.
  Device card() const {
    const Scan found = scan();
    REQUIRE(found.devices.size() == 1);
    return found.devices[0];
  }
  Texts ids() const { return ids_of(scan()); }
  static void wait(std::chrono::milliseconds duration) { LoopClock::advance(duration); }

  // Adds a PCI function with its RDMA device, its verbs node and at most one network interface.
  std::string add_card(const std::string& address, const std::string& name, unsigned n,
                       const std::string& vendor = "15b3", const std::string& netdev = "") const {
    const std::string function = "/sys/devices/pci0000:00/0000:00:01.0/" + address;
    machine.device("/sys/devices/pci0000:00/0000:00:01.0", "pci");
    machine.device(
        function, "pci",
        {{"vendor", "0x" + vendor}, {"device", "0x1017"}, {"class", "0x020700"}, {"numa_node", "1"}});
    machine.bind(function, vendor == "15b3" ? "mlx5_core" : "bnxt_en");
    if (!netdev.empty()) machine.device(function + "/net/" + netdev, "net");
    const std::string card = function + "/infiniband/" + name;
    machine.device(card, "infiniband", {{"node_guid", "506b:4b03:00c3:000" + std::to_string(n)}});
    add_verbs(function, name, n);
    return card;
  }
  void add_verbs(const std::string& parent, const std::string& name, unsigned n) const {
    const std::string uverbs = "uverbs" + std::to_string(n);
    machine.device(parent + "/infiniband_verbs/" + uverbs, "infiniband_verbs", {{"ibdev", name}},
                   {{"DEVNAME", "infiniband/" + uverbs}});
  }
  // Adds a management node. `mad` is a name such as "umad0" or "issm0".
  void add_mad(const std::string& card, const std::string& mad) const {
    const std::filesystem::path path = card;
    machine.device(path.parent_path().parent_path() / "infiniband_mad" / mad, "infiniband_mad",
                   {{"ibdev", path.filename()}, {"port", "1"}}, {{"DEVNAME", "infiniband/" + mad}});
  }
  void set_port(const std::string& card, int port, const std::string& state,
                const std::string& link_layer = "InfiniBand") const {
    machine.attribute(card + "/ports/" + std::to_string(port), "state", state);
    machine.attribute(card + "/ports/" + std::to_string(port), "link_layer", link_layer);
  }
  void add_rdma_cm() const {
    machine.device(kVirtual + "misc/rdma_cm", "misc", {}, {{"DEVNAME", "infiniband/rdma_cm"}});
  }
  std::string add_software_card(const std::string& name, const std::string& guid) const {
    const std::string card = kVirtual + "infiniband/" + name;
    machine.device(card, "infiniband", {{"node_guid", guid}});
    return card;
  }

 private:
  std::unique_ptr<const DeviceSource> source_;
};

Keys selectors(const std::string& key, const std::string& word) {
  return {{"selectors", map({{key, list({text(word)})}})}, {"portState", text("ignore")}};
}

TEST_CASE("a card is identified by its address and has the nodes of all of its ports") {
  const Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0, "15b3", "ib0");
  for (const char* mad : {"umad0", "umad1", "issm0", "issm1"}) rig.add_mad(card, mad);
  rig.set_port(card, 1, "4: ACTIVE");
  rig.set_port(card, 2, "1: DOWN");
  rig.add_rdma_cm();
  const Device device = rig.card();
  CHECK(device.id == kFirst);
  CHECK(device.healthy());
  CHECK(nodes_of(device) == Texts{"/dev/infiniband/uverbs0", "/dev/infiniband/umad0", "/dev/infiniband/umad1",
                                  "/dev/infiniband/issm0", "/dev/infiniband/issm1",
                                  "/dev/infiniband/rdma_cm"});
  CHECK(device.nodes[0].permissions == "rw");
  CHECK(device.numa_nodes == std::vector{1});
  CHECK(value(device, "pci") == kFirst);
  CHECK(value(device, "name") == "mlx5_0");
  CHECK(value(device, "guid") == "506b:4b03:00c3:0000");
  CHECK(value(device, "vendor") == "15b3");
  CHECK(value(device, "device") == "1017");
  CHECK(value(device, "class") == "020700");
  CHECK(value(device, "driver") == "mlx5_core");
  CHECK(value(device, "netdevs") == "ib0");
  CHECK(value(device, "linkType") == "infiniband");
  CHECK(value(device, "numa") == "1");
}

TEST_CASE("a missing rdma_cm leads to a remark while a card of the entry has nodes") {
  const Rig rig;
  CHECK(rig.scan().remarks.empty());
  rig.add_card(kFirst, "mlx5_0", 0);
  REQUIRE(rig.scan().remarks.size() == 1);
  CHECK(rig.scan().remarks[0].starts_with("the machine has no /dev/infiniband/rdma_cm: programs"));
  CHECK(rig.scan({.only = {}, .except = {{.attributes = {{"pci", {kFirst}}}, .where = {}}}}).remarks.empty());
  rig.add_rdma_cm();
  CHECK(rig.scan().remarks.empty());
}

TEST_CASE("the interfaces of a card in switchdev mode are its own, and can each be selected") {
  const Rig rig;
  rig.add_card(kFirst, "mlx5_0", 0, "15b3", "eno1");
  const std::string net = "/sys/devices/pci0000:00/0000:00:01.0/" + std::string(kFirst) + "/net/";
  rig.machine.attribute(net + "eno1", "phys_port_name", "p0");
  rig.machine.device(net + "eno1_0", "net", {{"phys_port_name", "pf0vf0"}});
  CHECK(value(rig.card(), "netdevs") == "eno1");
  rig.machine.device(net + "eno2", "net");
  CHECK(value(rig.card(), "netdevs") == "eno1,eno2");
  CHECK(rig.scan({.only = {}, .except = {{.attributes = {{"netdevs", {"eno1"}}}, .where = {}}}})
            .devices.empty());
}

TEST_CASE("a card lists what can move to a network namespace: its RDMA device and its own interfaces") {
  const Rig rig;
  rig.add_card(kFirst, "mlx5_0", 0, "15b3", "eno1");
  const std::string function = "/sys/devices/pci0000:00/0000:00:01.0/" + std::string(kFirst);
  CHECK(rig.card().hardware->in_namespace == Texts{function + "/infiniband", function + "/net"});
  rig.machine.remove(function + "/net/eno1");
  rig.machine.device(function + "/net/eno1_0", "net", {{"phys_port_name", "pf0vf0"}});
  CHECK(rig.card().hardware->in_namespace == Texts{function + "/infiniband"});
}

TEST_CASE("a card has the number of its virtual functions, and the address of its physical function") {
  const Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  const std::string function = card.substr(0, card.find("/infiniband"));
  const Device whole = rig.card();
  CHECK(value(whole, "vfs") == "(none)");
  CHECK(value(whole, "physfn") == "(none)");
  rig.machine.attribute(function, "sriov_numvfs", "8");
  rig.machine.link(function + "/physfn", "/sys/devices/0000:99:00.0");
  CHECK(value(rig.card(), "vfs") == "8");
  CHECK(value(rig.card(), "physfn") == "0000:99:00.0");
}

TEST_CASE("verbs and management nodes are assigned to the card to which they belong") {
  const Rig rig{{{"portState", text("ignore")}}};
  const std::string first = rig.add_card(kFirst, "mlx5_0", 1);
  const std::string second = rig.add_card(kSecond, "mlx5_1", 0);
  rig.add_mad(first, "umad1");
  rig.add_mad(second, "umad0");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{kFirst, kSecond});
  CHECK(nodes_of(scan.devices[0]) == Texts{"/dev/infiniband/uverbs1", "/dev/infiniband/umad1"});
  CHECK(nodes_of(scan.devices[1]) == Texts{"/dev/infiniband/uverbs0", "/dev/infiniband/umad0"});
}

TEST_CASE("a RoCE card needs no issm and umad nodes, only uverbs") {
  const Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0, "15b3", "eth0");
  rig.set_port(card, 1, "4: ACTIVE", "Ethernet");
  const Device device = rig.card();
  CHECK(device.healthy());
  CHECK(nodes_of(device) == Texts{"/dev/infiniband/uverbs0"});
  CHECK(value(device, "linkType") == "ether");
}

TEST_CASE("a card without its verbs node is Unhealthy until the node appears") {
  const Rig rig{{{"portState", text("ignore")}}};
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  const std::string function = card.substr(0, card.find("/infiniband"));
  rig.machine.remove(function + "/infiniband_verbs");
  CHECK(rig.card().error == "mlx5_0 has no node /dev/infiniband/uverbs*; is the module ib_uverbs loaded?");
  rig.add_verbs(function, "mlx5_0", 0);
  CHECK(rig.card().healthy());
}

TEST_CASE("a card that udev renames stays the same device") {
  const Rig rig{{{"portState", text("ignore")}}};
  std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  const Device before = rig.card();
  rig.machine.remove(card);
  rig.add_card(kFirst, "ibp3s0", 0);
  const Device after = rig.card();
  CHECK(after.id == before.id);
  CHECK(after.nodes == before.nodes);
  CHECK(value(after, "name") == "ibp3s0");
}

TEST_CASE("a card that is removed is no longer a device, and its history is forgotten") {
  Rig rig;
  std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  rig.set_port(card, 1, "4: ACTIVE");
  CHECK(rig.card().healthy());
  rig.machine.remove(card.substr(0, card.find("/infiniband")));
  CHECK(rig.ids().empty());
  card = rig.add_card(kFirst, "mlx5_0", 0);
  rig.set_port(card, 1, "1: DOWN");
  CHECK_FALSE(rig.card().healthy());
}

TEST_CASE("a software device is identified by its GUID and gets its interface from the GID table") {
  const Rig rig;
  const std::string card = rig.add_software_card("rxe0", "5054:00ff:fe12:3456");
  rig.add_verbs(kVirtual.substr(0, kVirtual.size() - 1), "rxe0", 3);
  rig.set_port(card, 1, "4: ACTIVE", "Ethernet");
  rig.machine.attribute(card + "/ports/1/gid_attrs/ndevs", "0", "eth7");
  rig.machine.attribute(card + "/ports/1/gid_attrs/ndevs", "1", "eth7");
  rig.machine.tree().directory(card + "/ports/1/gid_attrs/ndevs/2");  // an entry that cannot be read
  const Device device = rig.card();
  CHECK(device.id == "5054:00ff:fe12:3456");
  CHECK(device.hardware->units == Texts{card});  // and not the network card below it
  CHECK(device.healthy());
  CHECK(nodes_of(device) == Texts{"/dev/infiniband/uverbs3"});
  CHECK(value(device, "netdevs") == "eth7");
  CHECK(value(device, "pci") == "(none)");
  CHECK(value(device, "driver") == "(none)");
  CHECK(value(device, "numa") == "(none)");
  CHECK(device.numa_nodes.empty());
}

TEST_CASE("a device with neither a PCI address nor a GUID is identified by its name") {
  const Rig rig{{{"portState", text("ignore")}}};
  rig.add_software_card("siw0", "0000:0000:0000:0000");
  CHECK(rig.ids() == Texts{"siw0"});
}

TEST_CASE("of RDMA devices on one PCI function one has the address as id, and the others their GUIDs") {
  const Rig rig{{{"portState", text("ignore")}}};
  const std::string card = rig.add_card(kFirst, "mlx5_1", 0);
  const std::string function = card.substr(0, card.find("/infiniband"));
  rig.machine.device(function + "/infiniband/a_rxe", "infiniband", {{"node_guid", "526b:4bff:fec3:0000"}});
  rig.machine.device(function + "/mlx5_core.sf.4", "auxiliary");
  rig.machine.device(function + "/mlx5_core.sf.4/infiniband/mlx5_9", "infiniband",
                     {{"node_guid", "506b:4b03:00c3:0099"}});
  CHECK(rig.ids() == Texts{kFirst, "506b:4b03:00c3:0099", "526b:4bff:fec3:0000"});
  const Scan scan = rig.scan();
  CHECK(value(scan.devices[0], "name") == "mlx5_1");
  CHECK(value(scan.devices[1], "pci") == kFirst);
}

TEST_CASE("rdma: one item of each selector has to match, and all selectors") {
  Rig rig;
  const std::string first = rig.add_card(kFirst, "mlx5_0", 0, "15b3", "ib0");
  const std::string second = rig.add_card(kSecond, "bnxt_re0", 1, "14e4", "eth0");
  rig.add_software_card("rxe0", "5054:00ff:fe12:3456");
  rig.set_port(first, 1, "4: ACTIVE", "InfiniBand");
  rig.set_port(first, 2, "4: ACTIVE", "Ethernet");
  rig.set_port(second, 1, "4: ACTIVE", "Ethernet");
  const auto chosen = [&](const std::string& key, const std::string& word) {
    rig.configure(selectors(key, word));
    return rig.ids();
  };
  CHECK(chosen("vendors", "0x15B3") == Texts{kFirst});
  CHECK(chosen("deviceIDs", "1017") == Texts{kFirst, kSecond});
  CHECK(chosen("deviceIDs", "1019").empty());
  CHECK(chosen("drivers", "bnxt_en") == Texts{kSecond});
  CHECK(chosen("ifNames", "eth0") == Texts{kSecond});
  CHECK(chosen("ifNames", "ib*") == Texts{kFirst});
  CHECK(chosen("linkTypes", "infiniband") == Texts{kFirst});
  CHECK(chosen("linkTypes", "InfiniBand") == Texts{kFirst});
  CHECK(chosen("linkTypes", "ether") == Texts{kFirst, kSecond});
  CHECK(chosen("linkTypes", "Ethernet") == Texts{kFirst, kSecond});
  rig.configure({{"selectors", map({{"vendors", list({text("15b3"), text("14e4")})},
                                    {"linkTypes", list({text("infiniband")})}})}});
  CHECK(rig.ids() == Texts{kFirst});
  rig.configure({{"portState", text("ignore")}});
  CHECK(rig.ids().size() == 3);
}

TEST_CASE("`portState` decides when a card is Healthy, and its reason names the ports") {
  Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  const auto error = [&](const char* policy) {
    rig.configure({{"portState", text(policy)}});
    return rig.card().error;
  };
  CHECK(error("any") == "it has no port");
  CHECK(error("all") == "it has no port");
  rig.set_port(card, 1, "4: ACTIVE");
  rig.set_port(card, 2, "2: INIT");
  CHECK(error("any").empty());
  CHECK(error("all") == "port 2 is INIT");
  rig.set_port(card, 1, "1: DOWN");
  CHECK(error("any") == "port 1 is DOWN, port 2 is INIT");
  CHECK(error("ignore").empty());
  rig.machine.tree().remove(card + "/ports/2/state");
  CHECK(error("all") == "port 1 is DOWN, port 2 does not report its state");
}

TEST_CASE("a port's state counts once it has lasted, in both directions") {
  Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  const auto healthy_with = [&](const char* state) {
    rig.set_port(card, 1, state);
    return rig.card().healthy();
  };
  CHECK(healthy_with("4: ACTIVE"));
  CHECK(healthy_with("1: DOWN"));
  rig.wait(100ms);  // as when a different event causes a scan
  CHECK(healthy_with("1: DOWN"));
  rig.wait(4900ms);
  CHECK_FALSE(healthy_with("1: DOWN"));

  CHECK_FALSE(healthy_with("4: ACTIVE"));
  CHECK(rig.card().error == "its ports are ACTIVE again, but not for long enough");
  rig.wait(5s);
  CHECK(healthy_with("4: ACTIVE"));

  // A short return of the former state restarts the delay.
  CHECK(healthy_with("1: DOWN"));
  rig.wait(3s);
  CHECK(healthy_with("4: ACTIVE"));
  rig.wait(3s);
  CHECK(healthy_with("1: DOWN"));
  rig.wait(3s);
  CHECK(healthy_with("1: DOWN"));
}

TEST_CASE("a port's state is polled, and everything else is watched by events") {
  Rig rig;
  CHECK(rig.scan().rescan_after == 5s);
  rig.configure({{"portState", text("ignore")}});
  const Scan scan = rig.scan();
  CHECK(scan.rescan_after == 0s);
  for (const char* subsystem : {"infiniband", "infiniband_verbs", "infiniband_mad", "net", "pci", "misc"}) {
    CAPTURE(subsystem);
    CHECK(std::ranges::count(scan.subsystems, subsystem) == 1);
  }
}

TEST_CASE("a pool is one device with all cards' nodes, Healthy while one card is") {
  const Rig rig{{{"pool", text("true")}, {"permissions", text("rwm")}}};
  CHECK(rig.scan().devices.empty());
  const std::string first = rig.add_card(kFirst, "mlx5_0", 0, "15b3", "ib0");
  const std::string second = rig.add_card(kSecond, "mlx5_1", 1, "15b3", "ib1");
  rig.add_rdma_cm();
  rig.set_port(first, 1, "4: ACTIVE");
  rig.set_port(second, 1, "1: DOWN");
  const Device pool = rig.card();
  CHECK(pool.id == "rdma/hca");
  CHECK(pool.healthy());
  CHECK(nodes_of(pool) ==
        Texts{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs1"});
  CHECK(pool.nodes[0].permissions == "rwm");
  CHECK(pool.numa_nodes == std::vector{1});
  CHECK(value(pool, "pci") == "0000:03:00.0,0000:81:00.0");
  CHECK(value(pool, "netdevs") == "ib0,ib1");
}

TEST_CASE("a pool consists of the cards that the entry selects") {
  const Rig rig{{{"pool", text("true")}}};
  rig.set_port(rig.add_card(kFirst, "mlx5_0", 0), 1, "1: DOWN");
  rig.set_port(rig.add_card(kSecond, "mlx5_1", 1), 1, "4: ACTIVE");
  const auto named = [](const std::string& name) {
    return Choice{.only = {}, .except = {{.attributes = {{"name", {name}}}, .where = "except[0]"}}};
  };
  const Scan storage = rig.scan(named("mlx5_1"));
  REQUIRE(ids_of(storage) == Texts{"rdma/hca"});
  CHECK(nodes_of(storage.devices[0]) == Texts{"/dev/infiniband/uverbs0"});
  CHECK(storage.devices[0].error == "none of its cards works; 0000:03:00.0: port 1 is DOWN");
  CHECK(rig.scan(named("mlx5_0")).devices.at(0).healthy());
  CHECK(rig.scan(named("*")).devices.empty());
}

TEST_CASE("the port states of a card that the entry leaves out have no history") {
  const Rig rig;
  const std::string card = rig.add_card(kFirst, "mlx5_0", 0);
  rig.set_port(card, 1, "1: DOWN");
  CHECK(rig.scan({.only = {}, .except = {{.attributes = {{"pci", {kFirst}}}, .where = {}}}}).devices.empty());
  rig.set_port(card, 1, "4: ACTIVE");
  CHECK(rig.card().healthy());  // with a history, the change would not count yet
}

TEST_CASE("a pool without a working card has a reason") {
  const Rig rig{{{"pool", text("true")}}};
  rig.set_port(rig.add_card(kFirst, "mlx5_0", 0), 1, "1: DOWN");
  rig.set_port(rig.add_card(kSecond, "mlx5_1", 1), 1, "1: DOWN");
  CHECK(rig.card().error == "none of its cards works; 0000:03:00.0: port 1 is DOWN");
}

TEST_CASE("the SR-IOV plugin's variables can be written as templates") {
  const Rig rig{{{"portState", text("ignore")}}};
  rig.add_mad(rig.add_card(kFirst, "mlx5_0", 0), "umad0");
  rig.add_card(kSecond, "mlx5_1", 1);
  rig.add_rdma_cm();
  AllocationSpec spec;
  spec.env = {{Template("PCIDEVICE_{resourceEnv}"), Template("{pci}")},
              {Template("PCIDEVICE_{resourceEnv}_INFO"), Template("{{{pciInfo}}}")}};
  const Texts ids{kSecond, kFirst};
  const auto answer = allocate("intel.com/my-rdma_net", spec, Inventory(rig.scan().devices), ids);
  REQUIRE(std::holds_alternative<Allocation>(answer));
  CHECK(std::get<Allocation>(answer).env ==
        std::map<std::string, std::string>{
            {"PCIDEVICE_INTEL_COM_MY_RDMA_NET", "0000:81:00.0,0000:03:00.0"},
            {"PCIDEVICE_INTEL_COM_MY_RDMA_NET_INFO",
             R"({"0000:81:00.0":{"generic":{"deviceID":"0000:81:00.0"},)"
             R"("rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_1",)"
             R"("uverbs":"/dev/infiniband/uverbs1"}},)"
             R"("0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"},)"
             R"("rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_0",)"
             R"("umad":"/dev/infiniband/umad0","uverbs":"/dev/infiniband/uverbs0"}}})"}});
}

TEST_CASE("errors of `rdma` are found when it is read") {
  const auto problems = [](Keys keys) { return read_entry("rdma", map(std::move(keys))).problems.size(); };
  CHECK(problems({}) == 0);
  CHECK(problems({{"vendors", list({text("15b3")})}}) == 1);
  CHECK(problems(selectors("vendor", "15b3")) == 1);
  CHECK(problems(selectors("vendors", "mellanox")) == 1);
  CHECK(problems(selectors("deviceIDs", "297")) == 1);
  CHECK(problems(selectors("linkTypes", "fibre")) == 1);
  CHECK(problems({{"portState", text("up")}}) == 1);
  CHECK(problems({{"pool", text("yes")}}) == 1);
  CHECK(problems({{"permissions", text("x")}}) == 1);
}

}  // namespace
}  // namespace plughost
