// Checks RDMA cards that appear, are renamed, lose a port and disappear.

#include <doctest/doctest.h>

#include <csignal>

#include "hotplug/made_machine.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kAdapter = "rdma/hca";
const std::string kAdapterAddress = "0000:03:00.0";
const std::string kPci = "/sys/devices/pci0000:00/" + kAdapterAddress;

// Adds a card with these names of its RDMA device and of its verbs device.
void plug_in_card(const MadeMachine& machine, const std::string& name, const std::string& uverbs) {
  const MadeSysfs& sysfs = machine.sysfs();
  sysfs.device(kPci, "pci",
               {{"vendor", "0x15b3"}, {"device", "0x1017"}, {"class", "0x020700"}, {"numa_node", "1"}});
  // The ports are added first, because a card is listed with its ports.
  for (const auto& [file, text] : MadeSysfs::Texts{{"state", "4: ACTIVE"}, {"link_layer", "InfiniBand"}})
    sysfs.attribute(kPci + "/infiniband/" + name + "/ports/1", file, text);
  sysfs.device(kPci + "/infiniband/" + name, "infiniband", {{"node_guid", "0c42:a103:0000:0001"}});
  machine.plug_in(kPci + "/infiniband_verbs/" + uverbs, "infiniband_verbs", {{"ibdev", name}},
                  {{"DEVNAME", "infiniband/" + uverbs}});
  send_uevent("add", (kPci + "/infiniband/" + name).substr(4), "infiniband");
}

void start_with_adapter(Node& node) {
  node.configure("- {name: " + kAdapter + ", rdma: {selectors: {vendors: [15b3]}}}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kAdapter}));
}

}  // namespace

TEST_CASE("an RDMA card keeps its id when it is renamed, and when it is removed and plugged in again") {
  const MadeMachine machine;
  Node node;
  start_with_adapter(node);
  CHECK(node.of(kAdapter).devices->empty());
  plug_in_card(machine, "mlx5_0", "uverbs0");
  REQUIRE(node.healthy(kAdapter, kAdapterAddress, limit(1s)));
  CHECK(node.of(kAdapter).devices->at(0).numa_nodes == std::vector<std::int64_t>{1});
  CHECK(node.kubelet().allocate_ids(kAdapter, {kAdapterAddress}).containers.at(0).nodes.at(0).host_path ==
        "/dev/infiniband/uverbs0");
  const auto lists = node.of(kAdapter).lists;
  const auto has_new_list = [&] {
    return node.wait_for([&](const KubeletState& state) { return state.of(kAdapter).lists > lists; },
                         kWatched);
  };
  // Waits for the end of the scan that follows the watch of /dev/infiniband. That scan would find a
  // half-finished rename.
  CHECK_FALSE(has_new_list());

  const std::string infiniband = kPci + "/infiniband/";
  // The kernel renames a device in one step. The test needs several, so the daemon is stopped in the
  // meantime.
  node.daemon().signal(SIGSTOP);
  std::filesystem::rename(infiniband + "mlx5_0", infiniband + "rocep3s0");
  std::filesystem::remove("/sys/class/infiniband/mlx5_0");
  machine.sysfs().device(infiniband + "rocep3s0", "infiniband");
  machine.sysfs().attribute(kPci + "/infiniband_verbs/uverbs0", "ibdev", "rocep3s0");
  send_uevent("move", (infiniband + "rocep3s0").substr(4), "infiniband",
              {{"DEVPATH_OLD", (infiniband + "mlx5_0").substr(4)}});
  node.daemon().signal(SIGCONT);
  CHECK_FALSE(has_new_list());
  CHECK(node.kubelet().allocate_ids(kAdapter, {kAdapterAddress}).code == 0);

  machine.unplug(kPci, "infiniband");
  CHECK(node.unhealthy(kAdapter, kAdapterAddress, limit(1s)));
  plug_in_card(machine, "mlx5_0", "uverbs1");
  CHECK(node.healthy(kAdapter, kAdapterAddress, limit(1s)));
  CHECK(node.kubelet().allocate_ids(kAdapter, {kAdapterAddress}).containers.at(0).nodes.at(0).host_path ==
        "/dev/infiniband/uverbs1");
  CHECK(node.of(kAdapter).devices->size() == 1);
}

TEST_CASE(
    "a port that stays down makes its card Unhealthy, and the card is Healthy again when the port is up") {
  const MadeMachine machine;
  plug_in_card(machine, "mlx5_0", "uverbs0");
  Node node;
  start_with_adapter(node);
  REQUIRE(node.healthy(kAdapter, kAdapterAddress));
  // The kernel sends no event when the state of a port changes.
  const std::string port = kPci + "/infiniband/mlx5_0/ports/1";
  machine.sysfs().attribute(port, "state", "1: DOWN");
  CHECK(node.unhealthy(kAdapter, kAdapterAddress, 11s + kLong));
  CHECK(node.kubelet().allocate_ids(kAdapter, {kAdapterAddress}).text.find("port 1 is DOWN") !=
        std::string::npos);
  machine.sysfs().attribute(port, "state", "4: ACTIVE");
  CHECK(node.healthy(kAdapter, kAdapterAddress, 11s + kLong));
}
