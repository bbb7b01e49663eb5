// Checks an NVIDIA driver that is loaded after the daemon and releases a card, and GPUs and network cards
// behind one bridge.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "hotplug/made_machine.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "nvidia.com/gpu";
const std::string kHca = "rdma/hca";
const std::string kAddress = "0000:3b:00.0";
const std::string kCard = "/sys/devices/pci0000:3a/0000:3a:00.0/" + kAddress;

void start_with_nvml(Node& node, const std::string& resources) {
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
}

// Returns true if the daemon has mapped the library.
bool loaded(Node& node) {
  std::ifstream maps("/proc/" + std::to_string(node.daemon().pid()) + "/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  REQUIRE_FALSE(text.empty());
  return text.find("libnvidia-ml.so.1") != std::string::npos;
}

void add_card(const MadeMachine& machine, const std::string& path) {
  machine.plug_in(path, "pci", {{"vendor", "0x10de"}, {"device", "0x2330"}, {"class", "0x030200"}});
}

void add_hca(const MadeMachine& machine, const std::string& above, const std::string& address, int number) {
  const std::string path = above + '/' + address;
  const std::string name = "mlx5_" + std::to_string(number);
  machine.sysfs().device(path, "pci", {{"vendor", "0x15b3"}, {"device", "0x1017"}, {"class", "0x020700"}});
  machine.sysfs().device(path + "/infiniband/" + name, "infiniband", {});
  machine.plug_in(path + "/infiniband_verbs/uverbs" + std::to_string(number), "infiniband_verbs",
                  {{"ibdev", name}}, {{"DEVNAME", "infiniband/uverbs" + std::to_string(number)}});
}

}  // namespace

TEST_CASE(
    "a driver that is loaded after the daemon is used when its nodes appear, and released when it loses a "
    "card") {
  const MadeMachine machine;
  const FakeNvml fake("fail nvmlInit_v2 9\n");
  add_card(machine, kCard);
  Node node;
  start_with_nvml(node, "- {name: " + kGpu + ", gpu: {vendor: nvidia}}\n");
  REQUIRE(node.attached({kGpu}));
  CHECK(node.daemon().wait_for_line({kAddress, "no driver is bound to it"}, kLong));
  CHECK(node.of(kGpu).devices->empty());

  const std::string shown = "card GPU-a minor=0 pci=" + kAddress + "\n";
  fake.show(shown);
  machine.sysfs().bind(kCard, "nvidia");
  make_node("/dev/nvidiactl");
  REQUIRE(node.healthy(kGpu, "GPU-a", limit(1s)));
  CHECK(fake.in_use());
  CHECK(loaded(node));

  // Unbinding a card waits until no process has it open.
  fake.show("fail nvmlInit_v2 9\n");
  machine.sysfs().bind(kCard, "vfio-pci");
  send_uevent("unbind", kCard.substr(4), "pci");
  CHECK(eventually([&] { return !fake.in_use(); }));
  CHECK(eventually([&] { return !loaded(node); }));
  CHECK(node.unhealthy(kGpu, "GPU-a"));

  fake.show(shown);
  machine.sysfs().bind(kCard, "nvidia");
  send_uevent("bind", kCard.substr(4), "pci");
  CHECK(node.healthy(kGpu, "GPU-a", kLong));
}

TEST_CASE("near: a container gets the network card that is behind the bridge of its GPU") {
  const MadeMachine machine;
  const std::string first = "/sys/devices/pci0000:10/0000:10:00.0";
  const std::string second = "/sys/devices/pci0000:80/0000:80:00.0";
  add_card(machine, first + "/0000:11:00.0");
  add_card(machine, second + "/0000:81:00.0");
  add_hca(machine, first, "0000:12:00.0", 0);
  add_hca(machine, second, "0000:82:00.0", 1);
  const FakeNvml fake("card GPU-a minor=0 pci=0000:11:00.0\ncard GPU-b minor=1 pci=0000:81:00.0\n");
  Node node;
  start_with_nvml(node, "- {name: " + kGpu + ", gpu: {vendor: nvidia}}\n- {name: " + kHca +
                            ", rdma: {portState: ignore}, near: " + kGpu + "}\n");
  REQUIRE(node.count(kGpu, 2));
  REQUIRE(node.count(kHca, 2));
  const auto preferred = [&] {
    const auto answer = node.kubelet().preferred_ids(kHca, {"0000:12:00.0", "0000:82:00.0"}, {}, 1);
    return answer.containers.at(0).at(0);
  };
  // The daemon relates the entries shortly after their lists.
  CHECK(eventually([&] {
    return node.kubelet().allocate_ids(kGpu, {"GPU-b"}).code == 0 && preferred() == "0000:82:00.0";
  }));
  REQUIRE(node.kubelet().allocate_ids(kGpu, {"GPU-a"}).code == 0);
  CHECK(preferred() == "0000:12:00.0");
  REQUIRE(node.kubelet().allocate_ids(kGpu, {"GPU-b"}).code == 0);
  CHECK(preferred() == "0000:82:00.0");
}
