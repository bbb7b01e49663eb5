#include "driver/zero_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/apiserver/api_node.hpp"
#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::FakeObjects;
using test::run_until;

namespace {

const std::string kSerial = "example.com/serial";
const std::string kCamera = "example.com/camera";

struct Rig : test::ApiNode {
  NodeWatch watch{server};
  ZeroCounts counts{loop, log, server, watch};

  // A kubelet writes its node's status.
  void show(const std::map<std::string, std::string>& capacity,
            const std::map<std::string, std::string>& allocatable) {
    Json node = objects.get(FakeObjects::kNodes, FakeObjects::kNode);
    node["status"] = Json{{"capacity", Json(capacity)}, {"allocatable", Json(allocatable)}};
    objects.put(FakeObjects::kNodes, node);
  }
  bool shows(const std::string& which, const std::string& resource) const {
    const Json node = objects.get(FakeObjects::kNodes, FakeObjects::kNode);
    return !node["status"][which][resource].is_null();
  }
  bool clean(const std::string& resource) {
    return run_until(loop, [&] { return !shows("capacity", resource) && !shows("allocatable", resource); });
  }
};

TEST_CASE("a count is of no use if nothing of it can be given") {
  const NodeObject node{
      .name = {},
      .uid = {},
      .labels = {},
      .capacity = {{"a", "0"}, {"b", "2"}, {"c", "2"}, {"d", "0"}, {"e", "0"}, {"g", "1"}},
      .allocatable = {{"a", "0"}, {"b", "0"}, {"c", "2"}, {"e", "1"}, {"f", "0"}, {"h", "10"}}};
  CHECK(zero_counts(node, {"a", "b", "c", "d", "e", "f", "g", "h", "i"}) ==
        std::set<std::string>{"a", "b", "d", "f"});
  CHECK(zero_counts(node, {}).empty());
}

TEST_CASE("the node shows no count of 0 of what is in a pool, and all others as they were") {
  Rig rig;
  rig.show({{kSerial, "2"}, {kCamera, "0"}, {"cpu", "8"}}, {{kSerial, "0"}, {kCamera, "0"}, {"cpu", "8"}});
  rig.counts.follow({kSerial});
  CHECK(rig.clean(kSerial));
  CHECK(rig.shows("allocatable", kCamera));
  CHECK(rig.shows("capacity", "cpu"));
  CHECK(rig.objects.written("PATCH") == 1);
  rig.counts.follow({kSerial, kCamera});
  CHECK(rig.clean(kCamera));
}

TEST_CASE("a count that a kubelet writes again is taken away again, after a pause") {
  Rig rig;
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  rig.counts.follow({kSerial});
  REQUIRE(rig.clean(kSerial));
  const auto began = ZeroCounts::Clock::now();
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  CHECK(rig.clean(kSerial));
  CHECK(ZeroCounts::Clock::now() - began >= ZeroCounts::kPause / 2);
  CHECK(rig.objects.written("PATCH") == 2);
}

TEST_CASE("what can be given stays, and nothing is asked of the API server for no resource") {
  Rig rig;
  rig.show({{kSerial, "2"}}, {{kSerial, "2"}});
  CHECK(rig.objects.asked().empty());
  rig.counts.follow({kSerial});
  REQUIRE(run_until(rig.loop, [&] { return rig.watch.node() != nullptr; }));
  CHECK(rig.objects.written("PATCH") == 0);
  // The resource has left the pools before its count is 0.
  rig.counts.follow({});
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  rig.counts.follow({kCamera});
  rig.show({{kSerial, "0"}, {kCamera, "0"}}, {{kSerial, "0"}, {kCamera, "0"}});
  CHECK(rig.clean(kCamera));
  CHECK(rig.shows("allocatable", kSerial));
}

TEST_CASE("the counts are taken from the node's status, and the node is followed while there are pools") {
  Rig rig;
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  rig.counts.follow({kSerial});
  REQUIRE(rig.clean(kSerial));
  CHECK(rig.objects.asked("PATCH /api/v1/nodes/worker-1/status") == 1);
  const auto follows = [&] {
    return std::ranges::any_of(rig.server.status()->watches,
                               [](const auto& watch) { return watch.collection == FakeObjects::kNodes; });
  };
  CHECK(follows());
  rig.counts.follow({});
  rig.show({{kSerial, "2"}}, {{kSerial, "2"}});
  CHECK(run_until(rig.loop, [&] { return !follows(); }));
}

TEST_CASE("another API server's node has no counts of 0 either, whatever the former one has to say yet") {
  Rig rig;
  rig.objects.hold("PATCH");
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  rig.counts.follow({kSerial});
  REQUIRE(run_until(rig.loop, [&] { return rig.objects.asked("PATCH") == 1; }));
  FakeObjects other;
  Json node = other.get(FakeObjects::kNodes, FakeObjects::kNode);
  node["status"] = Json{{"capacity", Json{{kSerial, "0"}}}, {"allocatable", Json{{kSerial, "0"}}}};
  other.put(FakeObjects::kNodes, node);
  test::TempDir directory;
  rig.server.use(
      ApiServerConfig{.kubeconfig = other.kubeconfig(directory), .node = FakeObjects::kNode, .where = ""});
  CHECK(run_until(rig.loop, [&] { return other.written("PATCH") == 1; }));
  rig.objects.release();
}

TEST_CASE("where the API server refuses, it is said once, and tried until it does not") {
  Rig rig;
  rig.objects.refuse("PATCH", 403, 2);
  rig.show({{kSerial, "0"}}, {{kSerial, "0"}});
  rig.counts.follow({kSerial});
  CHECK(rig.clean(kSerial));
  CHECK(rig.told("still shows counts of 0") == 1);
}

}  // namespace
