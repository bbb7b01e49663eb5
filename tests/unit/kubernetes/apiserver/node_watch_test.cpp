#include "kubernetes/apiserver/node_watch.hpp"

#include <doctest/doctest.h>

#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/run_until.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::FakeCluster;
using test::run_until;

struct Rig {
  ApiServerConfig config(const FakeCluster& cluster) const {
    return {.kubeconfig = cluster.kubeconfig(directory), .node = FakeCluster::kNode, .where = {}};
  }
  std::string label(const std::string& key) const {
    if (!watch.node()) return "no node";
    const auto found = watch.node()->labels.find(key);
    return found == watch.node()->labels.end() ? "none" : found->second;
  }

  test::TempDir directory;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  ApiServer server{loop, workers, programs, log};
  NodeWatch watch{server};
};

TEST_CASE("the Node is watched once, however many observers it has, and not without one") {
  Rig rig;
  FakeCluster cluster;
  cluster.label("rack", "a");
  rig.server.use(rig.config(cluster));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return !cluster.asked().empty(); }, 50ms));
  int first = 0;
  int second = 0;
  const auto one = rig.watch.follow([&] { ++first; });
  const auto two = rig.watch.follow([&] { ++second; });
  CHECK_FALSE(rig.watch.node());
  CHECK(rig.watch.error().empty());
  REQUIRE(run_until(rig.loop, [&] { return rig.label("rack") == "a"; }));
  CHECK(rig.watch.node()->uid == "node-uid");
  CHECK(rig.watch.node()->capacity.at("cpu") == "8");
  REQUIRE(run_until(rig.loop, [&] { return cluster.asked("GET /api/v1/nodes?") == 2; }));  // list and watch
  CHECK(cluster.asked()[0].find("metadata.name%3Dworker-1") != std::string::npos);
  cluster.label("rack", "b");
  REQUIRE(run_until(rig.loop, [&] { return rig.label("rack") == "b"; }));
  CHECK(first == second);
  CHECK(first >= 2);
  CHECK(cluster.asked().size() == 2);
}

TEST_CASE("after its deletion the Node is unknown, and the error says that the API server has no such Node") {
  Rig rig;
  FakeCluster cluster;
  rig.server.use(rig.config(cluster));
  const auto following = rig.watch.follow([] {});
  REQUIRE(run_until(rig.loop, [&] { return rig.watch.node() != nullptr; }));
  cluster.remove_node();
  REQUIRE(run_until(rig.loop, [&] { return rig.watch.node() == nullptr; }));
  CHECK(rig.watch.error() == "the API server has no Node of our name");
}

TEST_CASE("a Node that never existed is unknown, and the error says that the API server has no such Node") {
  Rig rig;
  FakeCluster cluster;
  cluster.remove_node();
  rig.server.use(rig.config(cluster));
  const auto following = rig.watch.follow([] {});
  REQUIRE(run_until(rig.loop, [&] { return !rig.watch.error().empty(); }));
  CHECK(rig.watch.node() == nullptr);
  CHECK(rig.watch.error() == "the API server has no Node of our name");
}

TEST_CASE("the API server's refusal is reported as an error, until a request succeeds") {
  Rig rig;
  FakeCluster cluster;
  cluster.refuse("GET /api/v1/nodes", 500);
  rig.server.use(rig.config(cluster));
  const auto following = rig.watch.follow([] {});
  REQUIRE(run_until(rig.loop, [&] { return !rig.watch.error().empty(); }));
  CHECK(rig.watch.error().find("500") != std::string::npos);
  CHECK_FALSE(rig.watch.node());
  cluster.refuse("GET /api/v1/nodes", 0);
  REQUIRE(run_until(rig.loop, [&] { return rig.watch.node() && rig.watch.error().empty(); }));
}

TEST_CASE("after a change of API server the new one is watched, and the former objects are dropped") {
  Rig rig;
  FakeCluster former;
  former.label("rack", "a");
  rig.server.use(rig.config(former));
  int told = 0;
  const auto following = rig.watch.follow([&] { ++told; });
  REQUIRE(run_until(rig.loop, [&] { return rig.label("rack") == "a"; }));
  CHECK(rig.server.state()->server == former.url());
  FakeCluster next;
  next.label("rack", "b");
  test::TempDir other;
  const int before = told;
  rig.server.use(
      ApiServerConfig{.kubeconfig = next.kubeconfig(other), .node = FakeCluster::kNode, .where = {}});
  CHECK(told == before + 1);
  CHECK_FALSE(rig.watch.node());
  REQUIRE(run_until(rig.loop, [&] { return rig.label("rack") == "b"; }));
  CHECK(rig.server.state()->server == next.url());
  CHECK(rig.server.state()->watches.size() == 1);
  rig.server.use(std::nullopt);
  CHECK_FALSE(rig.watch.node());
  CHECK_FALSE(rig.server.state());
  CHECK(rig.server.client() == nullptr);
}

TEST_CASE("if only the configuration's place changes, the watch of the API server continues") {
  Rig rig;
  FakeCluster cluster;
  rig.server.use(rig.config(cluster));
  const auto following = rig.watch.follow([] {});
  REQUIRE(run_until(rig.loop, [&] { return rig.watch.node() != nullptr; }));
  ApiServerConfig same = rig.config(cluster);
  same.where = {.file = "a.yaml", .line = 9, .column = 1};
  rig.server.use(same);
  CHECK(rig.watch.node());
  CHECK(rig.server.config()->where.text() == "a.yaml:9:1");
}

}  // namespace
}  // namespace plughost
