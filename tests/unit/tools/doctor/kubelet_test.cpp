#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
namespace fs = std::filesystem;

TEST_CASE("it is a problem if the kubelet's directory is missing or is a file") {
  const MadeNode node;
  CHECK(node.one("kubelet-directory").level == Level::kProblem);
  node.tree.file(kPlugins);
  CHECK(node.one("kubelet-directory").level == Level::kProblem);
}

TEST_CASE("it is a problem if a group can write to the kubelet's directory") {
  MadeNode node;
  node.tree.directory(kPlugins);
  fs::permissions(node.tree.at(kPlugins), fs::perms(0750));
  CHECK(node.one("kubelet-directory").level == Level::kOk);
  fs::permissions(node.tree.at(kPlugins), fs::perms(0770));
  const Finding finding = node.one("kubelet-directory");
  CHECK(finding.level == Level::kProblem);
  CHECK(contains(finding.advice, "chmod go-w"));
}

TEST_CASE(
    "a kubelet's directory that belongs to a third user is a problem, and doctor's own user is a note") {
  MadeNode node;
  node.tree.directory(kPlugins);
  // Only root can change the owner. For other users, observed.user differs from the owner.
  if (::geteuid() == 0) REQUIRE(::chown(node.tree.at(kPlugins).c_str(), 1000, 1000) == 0);
  node.observed.user = ::geteuid() + 1;
  const Findings found = node.look("kubelet-directory");
  REQUIRE(found.size() == 2);
  CHECK(found[0].level == Level::kProblem);
  CHECK(contains(found[0].what, "not to root"));
  CHECK(found[1].level == Level::kNote);
  CHECK(found[1].advice == "run this as root");
}

TEST_CASE("it is a problem if the kubelet's socket is missing, and the finding names a kubelet that runs") {
  MadeNode node;
  node.tree.directory(kPlugins);
  CHECK(node.one("kubelet").what == "there is no kubelet's socket");
  node.process(77, "/opt/bin/kubelet --root-dir=/data/kubelet");
  const Finding finding = node.one("kubelet");
  CHECK(finding.level == Level::kProblem);
  CHECK(contains(finding.what, "process 77 (/opt/bin/kubelet --root-dir=/data/kubelet) runs"));
  CHECK(contains(finding.advice, "/var/lib/kubelet/device-plugins whatever its --root-dir says"));
}

TEST_CASE("a kubelet's socket is a problem if no process listens, and a note if the listener is unknown") {
  MadeNode node;
  node.observed.sockets[kKubeletSocket] = {SocketOwner::State::kNobody};
  CHECK(node.one("kubelet").level == Level::kProblem);
  node.observed.sockets[kKubeletSocket] = {SocketOwner::State::kUnknown};
  CHECK(node.one("kubelet").level == Level::kNote);
}

TEST_CASE("a running kubelet is reported with its version and its process") {
  MadeNode node;
  node.kubelet();
  const Finding finding = node.one("kubelet");
  CHECK(finding.level == Level::kOk);
  CHECK(finding.what == "Kubernetes v1.33.1, process 812 (/usr/bin/kubelet)");
}

TEST_CASE("a kubelet older than the tested ones is a warning") {
  MadeNode node;
  node.kubelet();
  for (const char* version : {"Kubernetes v1.19.16", "k3s version v1.9.1+k3s1 (abc)"}) {
    node.observed.kubelet_version = version;
    CHECK(node.one("kubelet").level == Level::kWarning);
  }
  for (const char* version : {"Kubernetes v1.20.0", "k3s version v1.33.0+k3s1 (abc)", "no version", ""}) {
    node.observed.kubelet_version = version;
    CHECK(node.one("kubelet").level == Level::kOk);
  }
}

TEST_CASE("if the kubelet has a different root directory, the advice names our keys with that directory") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n", "kubelet: {registration: pluginsRegistry}\n");
  node.kubelet("/usr/bin/kubelet --root-dir /data/kubelet/");
  const Finding registry = node.one("kubelet");
  CHECK(registry.level == Level::kProblem);
  CHECK(contains(registry.advice, "kubelet.pluginsRegistry: /data/kubelet/plugins_registry"));
  const Finding resources = node.one("pod-resources");
  CHECK(resources.level == Level::kWarning);
  CHECK(contains(resources.advice, "kubelet.podResources: /data/kubelet/pod-resources/kubelet.sock"));

  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("kubelet").level == Level::kOk);
}

TEST_CASE("it is a warning if no process listens on the socket for pod resources") {
  MadeNode node;
  node.kubelet();
  CHECK(node.one("pod-resources").level == Level::kWarning);
  CHECK(contains(node.one("pod-resources").advice, "KubeletPodResources"));
  node.observed.sockets[kPodResources] = {SocketOwner::State::kNobody};
  CHECK(node.one("pod-resources").level == Level::kWarning);
  node.listens(kPodResources, kKubelet);
  CHECK(node.one("pod-resources").level == Level::kOk);
}

TEST_CASE("if the kubelet's arguments are not visible, its root directory is read from k3s's configuration") {
  MadeNode node;
  node.tree.file("etc/rancher/k3s/config.yaml", "kubelet-arg: [root-dir=/data/kubelet]\n");
  node.kubelet("/usr/local/bin/k3s server", "k3s.service");
  const Finding finding = node.one("pod-resources");
  CHECK(contains(finding.advice, "`plughost setup` writes it down"));
  CHECK(contains(finding.advice, "kubelet.podResources: /data/kubelet/pod-resources/kubelet.sock"));
}

TEST_CASE("the advice for a missing kubelet names the kubelet's unit on this node") {
  const MadeNode node;
  CHECK(contains(node.one("kubelet").advice, "`systemctl status kubelet.service`"));
  node.tree.file("etc/systemd/system/k0sworker.service");
  CHECK(contains(node.one("kubelet").advice, "`journalctl -u k0sworker.service`"));
}
