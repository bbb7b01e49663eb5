#include "daemon/report/node_capacity.hpp"

#include <doctest/doctest.h>

#include "unit/kubernetes/apiserver/api_node.hpp"
#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::FakeCluster;
using test::run_until;

namespace {

const std::string kCapacity = "a.example/cards";
const std::string kCores = "a.example/cores";

struct CapacityRig : test::ApiNode {
  NodeWatch watch{server};
  NodeCapacity capacity{loop, log, server, watch};
  const std::vector<NodeResourceSpec> specs{{.key = kCapacity, .count = CardCount::kCards},
                                            {.key = kCores, .count = CardCount::kCores}};

  void follow(std::size_t cards, bool settled = true) {
    std::vector<Device> devices(cards);
    for (std::size_t i = 0; i < cards; ++i) devices[i].id = std::to_string(i);
    capacity.follow({{.counts = specs, .lists = {Inventory(std::move(devices))}, .settled = settled}});
  }
  bool shows(const std::string& cards, const std::string& cores) {
    return run_until(loop,
                     [&] { return objects.shown(kCapacity) == cards && objects.shown(kCores) == cores; });
  }
  // Runs the loop until the counts are settled. Returns false if that takes too long.
  bool settle(std::chrono::milliseconds limit = 5s) {
    bool settled = false;
    capacity.settle(limit, [&] { settled = true; });
    CHECK_FALSE(settled);
    return run_until(loop, [&] { return settled; });
  }
};

TEST_CASE("the Node shows an entry's cards once the cards are known, and keeps the resources of others") {
  CapacityRig rig;
  rig.follow(0, false);
  CHECK(rig.settle());
  CHECK(rig.objects.patches().empty());
  rig.follow(2);
  CHECK(rig.shows("2", "200"));
  CHECK(rig.settle());
  CHECK(rig.objects.shown("cpu") == "8");
  CHECK(
      rig.objects.patches() ==
      std::vector<std::string>{R"({"status":{"capacity":{"a.example/cards":"2","a.example/cores":"200"}}})"});
  CHECK(rig.told("node counts written") == 1);
}

TEST_CASE("a card that becomes sick is not counted, and a correct count is not written") {
  CapacityRig rig;
  rig.objects.show(kCapacity, "2");
  rig.objects.show(kCores, "200");
  rig.follow(2);
  CHECK(run_until(rig.loop, [&] { return rig.watch.node() != nullptr; }));
  CHECK(rig.settle());
  CHECK(rig.objects.patches().empty());
  rig.follow(1);
  CHECK(rig.shows("1", "100"));
}

TEST_CASE("a value that another program writes is overwritten") {
  CapacityRig rig;
  rig.follow(2);
  REQUIRE(rig.shows("2", "200"));
  CHECK(rig.settle());
  rig.objects.show(kCapacity, "0");
  CHECK(rig.shows("2", "200"));
}

TEST_CASE("counts of a removed entry are 0, and the Node is no longer watched") {
  CapacityRig rig;
  rig.follow(2);
  REQUIRE(rig.shows("2", "200"));
  CHECK_FALSE(rig.capacity.idle());
  rig.capacity.follow({});
  CHECK(rig.settle());
  CHECK(rig.objects.shown(kCapacity) == "0");
  CHECK(rig.objects.shown(kCores) == "0");
  CHECK(rig.capacity.idle());
}

TEST_CASE("an entry that is removed before its cards or the Node are known leaves a count of 0") {
  CapacityRig rig;
  rig.objects.show(kCapacity, "2");
  rig.follow(0, false);
  CHECK_FALSE(rig.capacity.idle());
  rig.capacity.follow({});
  REQUIRE(rig.watch.node() == nullptr);
  CHECK(rig.settle());
  CHECK(rig.objects.shown(kCapacity) == "0");
  CHECK(rig.objects.patches() ==
        std::vector<std::string>{R"({"status":{"capacity":{"a.example/cards":"0"}}})"});
  CHECK(rig.capacity.idle());
}

TEST_CASE(
    "a refused write is reported once and retried, and settle() waits for it no longer than the limit") {
  CapacityRig rig;
  rig.objects.refuse("PATCH", 403);
  rig.follow(2);
  CHECK(run_until(rig.loop, [&] { return rig.objects.asked("PATCH") >= 2; }));
  CHECK(rig.told("cannot write node counts: the old ones stay") == 1);
  CHECK(rig.settle(50ms));
  CHECK(rig.objects.shown(kCapacity).empty());
  rig.objects.refuse("PATCH", 0);
  CHECK(rig.settle());
  CHECK(rig.objects.shown(kCapacity) == "2");
  CHECK(rig.told("node counts written") == 1);
}

TEST_CASE("counts that changed while the API server was unreachable are written as soon as it responds") {
  CapacityRig rig;
  NodeCapacity patient(rig.loop, rig.log, rig.server, rig.watch, Backoff(1h, 1h));
  const auto follow = [&](std::size_t cards) {
    patient.follow(
        {{.counts = rig.specs, .lists = {Inventory(std::vector<Device>(cards))}, .settled = true}});
  };
  follow(1);
  // The Node's capacity must be known, because a count that the Node does not show needs no 0.
  REQUIRE(run_until(rig.loop, [&] {
    const NodeObject* const node = rig.watch.node();
    return node && node->capacity.contains(kCapacity);
  }));
  rig.objects.stop();
  follow(0);
  // The interrupted watch is retried after a delay, which ends with the refusal of the first retry.
  REQUIRE(run_until(rig.loop, [&] {
    return rig.told("cannot write node counts") == 1 &&
           rig.watch.error().find("Connection refused") != std::string::npos;
  }));
  rig.objects.start();
  CHECK(rig.shows("0", "0"));
}

TEST_CASE("without an API server, settle() ends without a request") {
  CapacityRig rig;
  rig.server.use(std::nullopt);
  rig.follow(2);
  CHECK(rig.settle());
  CHECK(rig.objects.asked().empty());
}

TEST_CASE("the counts are written again for a Node that was deleted and created again") {
  CapacityRig rig;
  rig.follow(2);
  REQUIRE(rig.shows("2", "200"));
  rig.objects.remove_node();
  CHECK(run_until(rig.loop, [&] { return rig.watch.node() == nullptr; }));
  CHECK(rig.settle());
  rig.objects.make_node();
  CHECK(rig.shows("2", "200"));
}

TEST_CASE("the counts are written to a new API server") {
  CapacityRig rig;
  rig.follow(2);
  REQUIRE(rig.shows("2", "200"));
  const test::TempDir directory;
  FakeCluster other;
  rig.server.use(ApiServerConfig{.kubeconfig = other.kubeconfig(directory), .node = FakeCluster::kNode});
  CHECK(run_until(rig.loop, [&] { return other.shown(kCapacity) == "2"; }));
  rig.server.use(std::nullopt);
}

}  // namespace
