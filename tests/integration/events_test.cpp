// Checks `events`: what the daemon writes to the API server, and that devices do not depend on the server.

#include <doctest/doctest.h>

#include <csignal>
#include <map>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Kinds = std::map<std::string, int>;

// A node whose daemon uses a simulated cluster.
struct Asking {
  explicit Asking(std::string more = {}) : node(Node::Options{.pod_resources = true}), top(std::move(more)) {
    use(cluster);
    node.files().file("gophers/amy");
    node.files().file("gophers/bob");
  }
  void use(const FakeCluster& other) {
    node.set_top(top + "apiServer: {kubeconfig: " + other.kubeconfig(node.files()) +
                 ", node: " + FakeCluster::kNode + "}\n");
  }
  void start(const std::string& entries) {
    node.configure(entries);
    node.start_kubelet();
    node.start_daemon();
  }
  std::string gophers() const { return listed(kGopher, node.path("gophers")); }
  // Returns the number of Events by the kind of their object and their reason, such as
  // "Node/DeviceUnhealthy".
  Kinds kinds() const {
    Kinds kinds;
    for (const Json& event : cluster.events())
      ++kinds[event["involvedObject"]["kind"].text() + '/' + event["reason"].text()];
    return kinds;
  }

  FakeCluster cluster;
  Node node;
  std::string top;
};

}  // namespace

TEST_CASE("the loss of a held device leads to an Event on the node and the pod, and so does its return") {
  Asking asking("events: true\n");
  asking.cluster.add_pod("default", "pod-a", "uid-of-a");
  asking.start(asking.gophers());
  REQUIRE(asking.node.attached({kGopher}));
  REQUIRE(asking.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  asking.node.files().remove("gophers/amy");
  REQUIRE(asking.node.unhealthy(kGopher, "amy"));
  Kinds expected{{"Node/DeviceUnhealthy", 1}, {"Pod/DeviceUnhealthy", 1}};
  REQUIRE(eventually([&] { return asking.kinds() == expected; }));
  const Json of_pod = asking.cluster.events()[1];
  CHECK(of_pod["involvedObject"]["uid"].text() == "uid-of-a");
  CHECK(of_pod["message"].text().starts_with(kGopher + ": amy: it is gone: "));
  asking.node.files().file("gophers/amy");
  expected["Node/DeviceHealthy"] = 1;
  expected["Pod/DeviceHealthy"] = 1;
  REQUIRE(eventually([&] { return asking.kinds() == expected; }));
}

TEST_CASE("a refused reload leads to an Event, and without `events` the API server is not used") {
  Asking asking("events: true\n");
  asking.start(asking.gophers());
  REQUIRE(asking.node.attached({kGopher}));
  asking.node.configure("- {name: example.com/x, count: 0}\n");
  CHECK_FALSE(asking.node.reload());
  REQUIRE(eventually([&] { return asking.kinds() == Kinds{{"Node/ReloadRefused", 1}}; }));
  CHECK(asking.cluster.events()[0]["message"].text().find("count") != std::string::npos);

  Asking silent;
  silent.start(silent.gophers());
  REQUIRE(silent.node.attached({kGopher}));
  silent.node.files().remove("gophers/amy");
  REQUIRE(silent.node.unhealthy(kGopher, "amy"));
  CHECK(silent.cluster.asked().empty());
}

TEST_CASE("an API server that refuses requests delays no list, reload, Allocate or stop") {
  Asking asking("events: true\n");
  asking.cluster.refuse("GET", 503);
  asking.cluster.refuse("POST", 503);
  asking.start(asking.gophers() + "- {name: " + kA + ", count: 2, when: {label: {rack: a}}}\n");
  REQUIRE(asking.node.attached({kGopher}));
  asking.node.files().remove("gophers/bob");
  REQUIRE(asking.node.unhealthy(kGopher, "bob"));
  REQUIRE(asking.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  asking.node.files().file("gophers/eve");
  REQUIRE(asking.node.healthy(kGopher, "eve"));
  REQUIRE(asking.node.reload());
  REQUIRE(eventually([&] { return asking.cluster.asked("POST") > 0; }));
  const auto begun = std::chrono::steady_clock::now();
  asking.node.daemon().signal(SIGTERM);
  CHECK(asking.node.daemon().wait_for_exit(kLong) == 0);
  CHECK(std::chrono::steady_clock::now() - begun < limit(4s));
}
