#include "host/services/kubernetes.hpp"

#include <sys/stat.h>

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using Units = std::vector<std::string>;

namespace {

std::vector<std::string> names(const MadeNode& node) {
  std::vector<std::string> names;
  for (const Sign& sign : signs_of_kubernetes(node.host)) names.emplace_back(sign.distribution->name);
  return names;
}

void install(const MadeNode& node, const std::string& unit, const std::string& text = "[Service]\n") {
  node.tree.file("etc/systemd/system/" + unit, text);
}

void enable(const MadeNode& node, const std::string& unit) {
  node.tree.link("etc/systemd/system/multi-user.target.wants/" + unit, "../" + unit);
}

void socket(const MadeNode& node, const std::string& path) {
  std::filesystem::create_directories(node.tree.at(path).parent_path());
  REQUIRE(::mknod(node.tree.at(path).c_str(), S_IFSOCK | 0600, 0) == 0);
}

}  // namespace

TEST_CASE("the ranking of distributions is: running, then enabled, then installed, then leftovers") {
  const MadeNode node;
  CHECK(names(node).empty());
  node.tree.directory("var/lib/k0s");
  CHECK(names(node) == std::vector<std::string>{"k0s"});
  CHECK(signs_of_kubernetes(node.host)[0].why == "there is /var/lib/k0s");
  CHECK(signs_of_kubernetes(node.host)[0].units == Units{"k0scontroller.service", "k0sworker.service"});
  install(node, "microshift.service");
  CHECK(names(node) == std::vector<std::string>{"microshift"});
  CHECK(signs_of_kubernetes(node.host)[0].why == "there is /etc/systemd/system/microshift.service");
  install(node, "rke2-agent.service");
  enable(node, "rke2-agent.service");
  CHECK(names(node) == std::vector<std::string>{"rke2"});
  CHECK(signs_of_kubernetes(node.host)[0].why == "rke2-agent.service is enabled");
  node.process(812, "/usr/local/bin/k3s agent --token secret", "k3s-agent.service");
  CHECK(names(node) == std::vector<std::string>{"k3s"});
  CHECK(signs_of_kubernetes(node.host)[0].why == "process 812 (/usr/local/bin/k3s) is in k3s-agent.service");
  CHECK(signs_of_kubernetes(node.host)[0].units == Units{"k3s-agent.service"});
}

TEST_CASE("equally strong signs are all reported, and a masked unit is not a sign") {
  const MadeNode node;
  install(node, "k3s.service");
  install(node, "k0sworker.service");
  CHECK(names(node) == std::vector<std::string>{"k3s", "k0s"});
  node.tree.remove("etc/systemd/system/k3s.service");
  node.tree.link("etc/systemd/system/k3s.service", "/dev/null");
  CHECK(names(node) == std::vector<std::string>{"k0s"});
  node.process(5, "/usr/local/bin/k0s", "k0sworker.service");
  node.process(6, "/usr/local/bin/k3s", "k3s.service");
  CHECK(names(node) == std::vector<std::string>{"k0s", "k3s"});
}

TEST_CASE("kubelet.service is attributed to kubeadm or OpenShift by files that only that distribution has") {
  const MadeNode node;
  install(node, "kubelet.service");
  CHECK(names(node) == std::vector<std::string>{"kubelet"});
  node.process(812, "/usr/bin/kubelet", "kubelet.service");
  CHECK(names(node) == std::vector<std::string>{"kubelet"});
  node.tree.file("var/lib/kubelet/kubeadm-flags.env");
  CHECK(names(node) == std::vector<std::string>{"kubeadm"});
  node.tree.file("etc/os-release", "ID=rhcos\n");
  CHECK(names(node) == std::vector<std::string>{"openshift"});
  node.tree.remove("etc/os-release");
  node.tree.directory("etc/machine-config-daemon");
  CHECK(names(node) == std::vector<std::string>{"openshift"});
}

TEST_CASE("a kubelet process is recognised inside any unit or outside all units, but not inside a pod") {
  const MadeNode node;
  node.process(812, "/opt/kubelet", "agent.service");
  CHECK(names(node) == std::vector<std::string>{"kubelet"});
  CHECK(signs_of_kubernetes(node.host)[0].units == Units{"agent.service"});
  node.tree.file("proc/812/cgroup", "0::/\n");
  CHECK(signs_of_kubernetes(node.host)[0].why == "process 812 (/opt/kubelet) runs");
  CHECK(signs_of_kubernetes(node.host)[0].units == Units{"kubelet.service"});
  node.tree.file("proc/812/cgroup",
                 "0::/kubepods.slice/kubepods-pod6c5c2a3e_7f7c_4e7a_9a51_0d8b7c5d1f10.slice/x.scope\n");
  CHECK(names(node).empty());
}

TEST_CASE("a kubelet in the runtime's control group is still attributed to its own distribution") {
  const MadeNode node;
  for (const std::string unit : {"containerd.service", "crio.service", "docker.service"}) {
    node.process(812, "/var/lib/k0s/bin/kubelet --root-dir=/data", unit);
    CHECK(names(node) == std::vector<std::string>{"kubelet"});
    CHECK(signs_of_kubernetes(node.host)[0].units == Units{"kubelet.service"});
  }
  node.tree.file("var/lib/kubelet/kubeadm-flags.env");
  CHECK(names(node) == std::vector<std::string>{"kubeadm"});
  node.process(700, "/usr/local/bin/k0s worker", "k0sworker.service");
  CHECK(names(node) == std::vector<std::string>{"k0s"});
  CHECK(kubernetes_of(node.host).root == "/data");
  // A process in a pod does not count.
  node.tree.file("proc/812/cgroup",
                 "0::/kubepods.slice/kubepods-pod6c5c2a3e_7f7c_4e7a_9a51_0d8b7c5d1f10.slice/x.scope\n");
  CHECK(kubernetes_of(node.host).root == "/var/lib/k0s/kubelet");
}

TEST_CASE(
    "if plughost's command line names a distribution, its strongest sign is reported, even if the sign of "
    "another distribution is stronger") {
  const MadeNode node;
  install(node, "k0sworker.service");
  node.process(6, "/usr/local/bin/k3s", "k3s.service");
  CHECK(sign_of(node.host, *distribution_of("k0s")).units == Units{"k0sworker.service"});
  const Sign rke2 = sign_of(node.host, *distribution_of("rke2"));
  CHECK(rke2.units == Units{"rke2-server.service", "rke2-agent.service"});
  CHECK(rke2.why == "nothing of it is to be seen");
  CHECK_FALSE(distribution_of("k4s"));
}

TEST_CASE(
    "without a sign, or with equal signs of two distributions, the default unit and directories are "
    "assumed") {
  const MadeNode node;
  const auto is_usual = [&] {
    const Kubernetes found = kubernetes_of(node.host);
    return found.name.empty() && found.units == Units{"kubelet.service"} &&
           found.root == "/var/lib/kubelet" && found.directory == "/var/lib/kubelet/device-plugins" &&
           found.root_why.empty();
  };
  CHECK(is_usual());
  install(node, "k3s.service");
  CHECK(kubernetes_of(node.host).name == "k3s");
  install(node, "k0sworker.service");
  CHECK(is_usual());
}

TEST_CASE(
    "the kubelet's root directory comes from its process, its unit, its files, or the default, in this "
    "order") {
  const MadeNode node;
  const auto root = [&] { return kubernetes_of(node.host).root.string(); };
  const auto why = [&] { return kubernetes_of(node.host).root_why; };
  install(node, "kubelet.service");
  CHECK(root() == "/var/lib/kubelet");
  CHECK(why().empty());
  node.tree.file("etc/default/kubelet", "KUBELET_EXTRA_ARGS=--root-dir=/files/\n");
  CHECK(root() == "/files");
  CHECK(why() == "/etc/default/kubelet");
  install(node, "kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet --root-dir /unit\n");
  CHECK(root() == "/unit");
  CHECK(why() == "/etc/systemd/system/kubelet.service");
  node.process(812, "/usr/bin/kubelet --root-dir=/process", "kubelet.service");
  CHECK(root() == "/process");
  CHECK(why() == "process 812 (/usr/bin/kubelet)");
  // Without readable arguments the process is not used.
  node.process(812, "/usr/bin/kubelet", "kubelet.service");
  CHECK(root() == "/unit");
  // A process of a different unit is not used.
  node.process(900, "/usr/bin/other --root-dir=/other", "other.service");
  CHECK(root() == "/unit");
}

TEST_CASE("k0s' kubelet has its root directory below k0s' data directory, which the unit may set") {
  const MadeNode node;
  install(node, "k0sworker.service");
  CHECK(kubernetes_of(node.host).root == "/var/lib/k0s/kubelet");
  CHECK(kubernetes_of(node.host).directory == "/var/lib/kubelet/device-plugins");
  install(node, "k0sworker.service", "[Service]\nExecStart=/usr/local/bin/k0s worker --data-dir=/data\n");
  CHECK(kubernetes_of(node.host).root == "/data/kubelet");
  install(node, "k0sworker.service",
          "[Service]\nExecStart=/usr/local/bin/k0s worker --data-dir=/data "
          "--kubelet-root-dir=/var/lib/kubelet\n");
  CHECK(kubernetes_of(node.host).root == "/var/lib/kubelet");
  // For k3s, --data-dir does not change the kubelet's root directory.
  node.tree.remove("etc/systemd/system/k0sworker.service");
  install(node, "k3s.service", "[Service]\nExecStart=/usr/local/bin/k3s server --data-dir=/data\n");
  CHECK(kubernetes_of(node.host).root == "/var/lib/kubelet");
}

TEST_CASE(
    "variables in MicroK8s' arguments are expanded, and /var/lib/kubelet is reported if it is a link to the "
    "kubelet's directory") {
  const MadeNode node;
  install(node, "snap.microk8s.daemon-kubelite.service");
  node.tree.file("var/snap/microk8s/current/args/kubelet", "--v=2\n--root-dir=${SNAP_COMMON}/elsewhere\n");
  CHECK(kubernetes_of(node.host).root == "/var/snap/microk8s/common/elsewhere");
  node.tree.directory("var/snap/microk8s/common/elsewhere");
  node.tree.link("var/lib/kubelet", "../snap/microk8s/common/elsewhere");
  CHECK(kubernetes_of(node.host).root == "/var/lib/kubelet");
  CHECK(kubernetes_of(node.host).root_why ==
        "/var/lib/kubelet is a link to /var/snap/microk8s/common/elsewhere");
}

TEST_CASE(
    "plugins register in the directory of the kubelet's socket, and without a socket in the default "
    "directory") {
  const MadeNode node;
  install(node, "k0sworker.service");
  const auto directory = [&] { return kubernetes_of(node.host).directory.string(); };
  CHECK(directory() == "/var/lib/kubelet/device-plugins");
  node.tree.file("var/lib/k0s/kubelet/device-plugins/kubelet.sock");
  CHECK(directory() == "/var/lib/kubelet/device-plugins");  // because the file is not a socket
  node.tree.remove("var/lib/k0s/kubelet/device-plugins/kubelet.sock");
  socket(node, "var/lib/k0s/kubelet/device-plugins/kubelet.sock");
  CHECK(directory() == "/var/lib/k0s/kubelet/device-plugins");
  socket(node, "var/lib/kubelet/device-plugins/kubelet.sock");
  CHECK(directory() == "/var/lib/kubelet/device-plugins");
}

TEST_CASE("an option is found in a command line, YAML, a shell variable and a unit, but not in a comment") {
  CHECK(option_in("--root-dir=/a", "root-dir") == "/a");
  CHECK(option_in("kubelet --v=2 --root-dir /a --x", "root-dir") == "/a");
  CHECK(option_in("-root-dir=/a", "root-dir") == "/a");
  CHECK(option_in("kubelet-arg: [\"v=2\", \"root-dir=/a\"]", "root-dir") == "/a");
  CHECK(option_in("kubelet-arg: [root-dir=/a]", "root-dir") == "/a");
  CHECK(option_in("- 'root-dir=/a'\n", "root-dir") == "/a");
  CHECK(option_in("KUBELET_EXTRA_ARGS=--root-dir=/a", "root-dir") == "/a");
  CHECK(option_in("    '--kubelet-arg=root-dir=/a' \\\n", "root-dir") == "/a");
  CHECK(option_in("--root-dir=/a --root-dir=/b\n", "root-dir") == "/b");
  CHECK(option_in("--root-dir=/a\n--root-dir=/b\n", "root-dir") == "/b");
  CHECK(option_in("# --root-dir=/a\n  # --root-dir=/b\n", "root-dir").empty());
  CHECK(option_in("--cert-root-dir=/a", "root-dir").empty());
  CHECK(option_in("--root-dirs=/a", "root-dir").empty());
  CHECK(option_in("--root-dir", "root-dir").empty());
  CHECK(option_in("--root-dir ", "root-dir").empty());
  CHECK(option_in("", "root-dir").empty());
}
