// `apiServer`: what needs it, and that nothing else does.

#include <doctest/doctest.h>

#include <csignal>
#include <map>

#include "integration/node.hpp"
#include "unit/apiserver/fake_cluster.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kGopher = "example.com/gopher";
const std::string kA = "example.com/a";
using Kinds = std::map<std::string, int>;

// A node whose daemon asks a cluster of the test's.
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
  // "Node/DeviceUnhealthy", and how many of them there are.
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

TEST_CASE(
    "a device that goes while a pod holds it is an Event on the node and on the pod, and so is its return") {
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

TEST_CASE("a reload that is refused is an Event, and without `events` nobody is asked for anything") {
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

TEST_CASE(
    "an entry applies by a label of the Node, which is followed, and by a reload that of another API "
    "server") {
  Asking asking;
  asking.cluster.label("rack", "a1");
  const std::string entry = "- {name: " + kA + ", count: 2, when: {label: {rack: \"a*\"}}}\n";
  asking.start(entry);
  REQUIRE(asking.node.count(kA, 2));
  asking.cluster.label("rack", "b1");
  REQUIRE(asking.node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 0; }));
  FakeCluster other;
  other.label("rack", "a9");
  asking.node.files().remove("kubeconfig");
  asking.node.files().directory("other");
  asking.node.set_top("apiServer: {kubeconfig: " + other.kubeconfig(asking.node.files(), "other/kubeconfig") +
                      ", node: worker-1}\n");
  asking.node.configure(entry);
  REQUIRE(asking.node.reload());
  REQUIRE(asking.node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 1; }));
}

TEST_CASE("an API server that is not there costs no list, no reload and no Allocate anything, nor the end") {
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

TEST_CASE("the status says which API server it is, and doctor which right is missing") {
  Asking asking("events: true\n");
  asking.cluster.label("rack", "a");
  asking.start(asking.gophers() + "- {name: " + kA + ", count: 2, when: {label: {rack: a}}}\n");
  REQUIRE(asking.node.attached({kGopher, kA}));
  const Finished status = run_plughost({"status", "--control", asking.node.control()});
  CHECK(status.output.find("API server: " + asking.cluster.url() + " as " + asking.node.path("kubeconfig") +
                           ", node worker-1, heard ") != std::string::npos);
  const std::vector<std::string> doctor{"doctor", "--config", asking.node.configuration()};
  CHECK(run_plughost(doctor).output.find("all that is needed is allowed") != std::string::npos);
  asking.cluster.deny("create events");
  asking.cluster.deny("watch nodes");
  const Finished found = run_plughost(doctor);
  CHECK(found.exit_code == 1);  // devices need the Node's labels
  CHECK(found.output.find("we may not watch nodes, where metadata.name=worker-1") != std::string::npos);
  CHECK(found.output.find("we may not create events") != std::string::npos);
  CHECK(found.output.find("we may not list pods") == std::string::npos);
  asking.cluster.refuse("POST", 401);
  CHECK(run_plughost(doctor).output.find("it cannot be asked with the credentials of " +
                                         asking.node.path("kubeconfig")) != std::string::npos);
}
