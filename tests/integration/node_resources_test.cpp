// Checks the counts of cards on the Node: what the daemon writes, and when.

#include <doctest/doctest.h>

#include <csignal>

#include "integration/eventually.hpp"
#include "integration/node.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kMemory = "doslab.io/gpu-memory";
const std::string kTwoSmallCards = "card GPU-a minor=0 memory=4096\ncard GPU-b minor=1 memory=4096\n";
// Cards are scanned every 5 s.
constexpr std::chrono::milliseconds kNextLook = 5s + kLong;

// A node with two cards, and its cluster.
struct Rig {
  FakeNvml cards{kTwoSmallCards};
  FakeCluster cluster;
  Node node;

  Rig() {
    set_top();
    node.configure(entry());
    node.start_kubelet();
    node.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
  }
  void set_top() {
    node.set_top("apiServer: {kubeconfig: " + cluster.kubeconfig(node.files()) +
                 ", node: " + FakeCluster::kNode + "}\n");
  }
  static std::string entry() {
    return "- {name: " + kMemory +
           ", gpu: {vendor: nvidia, unit: {memory: 1GiB}}, nodeResources: {doslab.io/gpu-count: \"{cards}\", "
           "doslab.io/gpu-core: \"{cores}\"}}\n";
  }
  bool shows(const std::string& cards_shown, const std::string& cores) {
    return eventually(
        [&] {
          return cluster.shown("doslab.io/gpu-count") == cards_shown &&
                 cluster.shown("doslab.io/gpu-core") == cores;
        },
        kNextLook);
  }
};

}  // namespace

TEST_CASE("nodeResources: the node shows the healthy cards, and 0 when plughost stops") {
  Rig rig;
  CHECK(rig.shows("2", "200"));
  CHECK(rig.node.healthy(kMemory, "GPU-a::0"));
  rig.cards.show("card GPU-a minor=0 memory=4096 lost=1\ncard GPU-b minor=1 memory=4096\n");
  CHECK(rig.shows("1", "100"));
  rig.node.daemon().signal(SIGTERM);
  CHECK(rig.shows("0", "0"));
  CHECK(rig.cluster.shown("cpu") == "8");
}

TEST_CASE(
    "nodeResources: counts of a killed plughost are set to 0 by the next one, even if it stops right after "
    "its start") {
  Rig rig;
  REQUIRE(rig.shows("2", "200"));
  rig.node.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
  REQUIRE(rig.node.attached({kMemory}));
  rig.node.daemon().signal(SIGTERM);
  CHECK(rig.shows("0", "0"));
}

TEST_CASE("nodeResources: counts are set to 0 when the entry is removed, also together with `apiServer`") {
  Rig rig;
  REQUIRE(rig.shows("2", "200"));
  rig.node.configure(counted("example.com/token", 1));
  CHECK(rig.node.reload());
  CHECK(rig.shows("0", "0"));
  rig.node.configure(Rig::entry());
  CHECK(rig.node.reload());
  REQUIRE(rig.shows("2", "200"));
  rig.node.set_top("");
  rig.node.configure(counted("example.com/token", 1));
  CHECK(rig.node.reload());
  CHECK(rig.shows("0", "0"));
}

TEST_CASE("nodeResources: devices are served while the API server refuses the counts") {
  Rig rig;
  REQUIRE(rig.shows("2", "200"));
  rig.cluster.refuse("PATCH", 503);
  rig.cards.show("card GPU-a minor=0 memory=4096 lost=1\ncard GPU-b minor=1 memory=4096\n");
  CHECK(rig.node.unhealthy(kMemory, "GPU-a::0", kNextLook));
  CHECK(rig.node.kubelet().allocate_ids(kMemory, {"GPU-b::0"}).code == 0);
  CHECK(rig.cluster.shown("doslab.io/gpu-count") == "2");
  rig.cluster.refuse("PATCH", 0);
  CHECK(rig.shows("1", "100"));
}
