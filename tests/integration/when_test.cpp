// Checks `when`, with which one file can serve different nodes.

#include <doctest/doctest.h>

#include "integration/eventually.hpp"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

std::string counted_when(const std::string& name, unsigned count, const std::string& condition) {
  return "- name: " + name + "\n  count: " + std::to_string(count) + "\n  when: " + condition + "\n";
}

}  // namespace

TEST_CASE(
    "an entry applies within a second after a file appears, and ceases to apply after the file vanishes, "
    "without a reload") {
  Node node;
  const std::string file = node.path("one");
  node.configure(counted_when(kA, 2, "{exists: " + file + '}') + counted(kB, 3));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kB}));
  CHECK(node.of(kA).registrations.empty());
  node.files().file("one");
  CHECK(node.count(kA, 2, limit(1s)));
  node.files().remove("one");
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 0; }, limit(1s)));
  CHECK(node.of(kB).registrations.size() == 1);
  CHECK(node.of(kB).lists == 1);
}

TEST_CASE("a reload evaluates the conditions of the new configuration") {
  Node node;
  node.configure(counted(kB, 3));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kB}));
  node.files().file("one");
  node.configure(counted_when(kA, 2, "{exists: " + node.path("one") + '}') +
                 counted_when(kB, 3, "{exists: " + node.path("two") + '}'));
  REQUIRE(node.reload());
  CHECK(node.count(kA, 2));
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kB).streams == 0; }));
}

TEST_CASE("entries with one name start and cease to apply without a new registration") {
  Node node;
  node.files().file("labels", "pool=desk");
  node.set_top("nodeLabels: " + node.path("labels") + '\n');
  node.configure(counted_when(kA, 2, "{label: {pool: desk}}") + counted_when(kA, 5, "{label: {pool: hall}}"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kA, 2));
  node.files().file("labels", "pool=hall");
  CHECK(node.count(kA, 5));
  CHECK(node.of(kA).registrations.size() == 1);
}

TEST_CASE(
    "an entry applies by a label of the Node, which is watched, and a reload can change the API server") {
  Node node;
  FakeCluster cluster;
  cluster.label("rack", "a1");
  FakeCluster other;
  other.label("rack", "a9");
  node.files().directory("other");
  const auto top = [](const std::string& kubeconfig) {
    return "apiServer: {kubeconfig: " + kubeconfig + ", node: " + FakeCluster::kNode + "}\n";
  };
  node.set_top(top(cluster.kubeconfig(node.files())));
  const std::string entries = counted_when(kA, 2, "{label: {rack: \"a*\"}}");
  node.configure(entries);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kA, 2));
  cluster.label("rack", "b1");
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 0; }));
  node.set_top(top(other.kubeconfig(node.files(), "other/kubeconfig")));
  node.configure(entries);
  REQUIRE(node.reload());
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 1; }));
}

TEST_CASE(
    "until the API server has sent the Node's labels, the node is not ready, and other entries are served") {
  Node node;
  FakeCluster cluster;
  cluster.refuse("GET", 503);
  node.set_top("apiServer: {kubeconfig: " + cluster.kubeconfig(node.files()) +
               ", node: " + FakeCluster::kNode + "}\n");
  node.configure(counted_when(kA, 2, "{label: {rack: a}}") + counted(kB, 3));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kB}));
  const auto check = [&] { return run_plughost({"status", "--check", "--control", node.control()}); };
  CHECK(check().output.find("cannot determine whether it is for this node: " + kA) != std::string::npos);
  CHECK(check().exit_code == 1);
  cluster.refuse("GET", 0);
  CHECK(eventually([&] { return check().exit_code == 0; }));
  CHECK(node.of(kA).registrations.empty());
}
