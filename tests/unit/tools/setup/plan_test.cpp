#include "tools/setup/plan.hpp"
#include "places.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// A node with systemd, plughost's unit and a configuration.
class SetUpNode : public MadeNode {
 public:
  explicit SetUpNode(const std::string& config = "resources: []\n") {
    tree.directory("run/systemd/system");
    tree.file("usr/lib/systemd/system/plughost.service",
              HostRoot(in_source("")).text("/systemd/plughost.service").value());
    tree.file("etc/plughost/config.yaml", config);
  }
  SetupPlan plan(const SetupTerms& terms = {.program = "/usr/bin/plughost"}) const {
    return plan_setup(host, terms);
  }
  std::string text(const std::string& path, const SetupPlan& plan) const {
    for (const PlannedFile& file : plan.files) {
      if (file.path == path) return file.text;
    }
    FAIL("not planned: " << path);
    return {};
  }
};

}  // namespace

TEST_CASE("every file of setup is in the plan of each node, with an empty text if it is not needed") {
  const SetUpNode node;
  std::vector<std::string> paths;
  for (const PlannedFile& file : node.plan().files) {
    CHECK(file.text.empty());
    paths.push_back(file.path);
  }
  CHECK(paths == std::vector<std::string>{"/etc/plughost/node.yaml", kSysusers, kOwnUnit, kDropIn});
  CHECK(plan_undo("/etc/plughost/config.yaml") == node.plan().files);
  CHECK(plan_undo("/opt/config.yaml")[0].path == "/opt/node.yaml");
}

TEST_CASE("the plan is the same when setup's own drop-in and unit are already there") {
  const SetUpNode node("listen: 0.0.0.0:1\nresources: []\n");
  const std::string drop_in = node.text(kDropIn, node.plan());
  CHECK(contains(drop_in, "IPAddressAllow=any"));
  node.tree.file(kDropIn, drop_in);
  CHECK(node.text(kDropIn, node.plan()) == drop_in);

  node.tree.remove("usr/lib/systemd/system/plughost.service");
  const SetupTerms terms{.program = "/opt/bin/plughost"};
  const std::string unit = node.text(kOwnUnit, node.plan(terms));
  CHECK(contains(unit, "ExecStart=/opt/bin/plughost"));
  node.tree.file(kOwnUnit, unit);
  CHECK(node.text(kOwnUnit, node.plan(terms)) == unit);
  CHECK(node.text(kDropIn, node.plan(terms)) == drop_in);
  CHECK_FALSE(node.plan(terms).enabled);
  node.tree.link(kOwnUnitLink, kOwnUnit);
  CHECK(node.plan(terms).enabled);
}

TEST_CASE("a user's own unit is kept, and gets a drop-in") {
  const SetUpNode node;
  node.tree.remove("usr/lib/systemd/system/plughost.service");
  node.tree.file(kOwnUnit, "[Service]\nReadWritePaths=/var/lib/kubelet /run/cdi\n");
  CHECK(node.text(kOwnUnit, node.plan()).empty());
  CHECK(contains(node.text(kDropIn, node.plan()), "Before=kubelet.service\n"));
}

TEST_CASE("a unit is not written for a program that it could not start") {
  const SetUpNode node;
  node.tree.remove("usr/lib/systemd/system/plughost.service");
  for (const std::string program :
       {"/home/me/plughost", "/root/plughost", "/tmp/plughost", "/var/tmp/plughost"})
    CHECK_THROWS_AS(node.plan({.program = program}), SetupError);
  CHECK_NOTHROW(node.plan({.program = "/homes/plughost"}));
  const SetupPlan none = node.plan({.program = ""});
  CHECK(node.text(kOwnUnit, none).empty());
  CHECK(node.text(kDropIn, none).empty());
  REQUIRE(none.remarks.size() == 1);
  CHECK(contains(none.remarks[0], "install plughost"));
}

TEST_CASE("on a node without systemd no drop-in is written, and node.yaml is") {
  const SetUpNode node("listen: 0.0.0.0:1\nresources: []\n");
  node.tree.remove("run/systemd");
  node.tree.file("etc/systemd/system/k0sworker.service", "");
  const SetupPlan plan = node.plan();
  CHECK(node.text(kDropIn, plan).empty());
  CHECK_FALSE(node.text("/etc/plughost/node.yaml", plan).empty());
  CHECK(contains(plan.remarks.at(0), "systemd does not run this node"));
  for (const std::string systemd : {"usr/lib/systemd/systemd", "lib/systemd/systemd"}) {
    node.tree.file(systemd);
    CHECK_FALSE(node.text(kDropIn, node.plan()).empty());
    node.tree.remove(systemd);
  }
}

TEST_CASE("the drop-in fits the configuration together with the node.yaml that setup will write") {
  const SetUpNode node("kubelet: {registration: pluginsRegistry}\nresources: []\n");
  node.tree.file("etc/systemd/system/k0sworker.service", "");
  CHECK(contains(node.text(kDropIn, node.plan()), "ReadWritePaths=-/var/lib/k0s/kubelet/plugins_registry\n"));
  // setup will replace this node.yaml, so it does not count.
  node.tree.file("etc/plughost/node.yaml", "# Written by plughost setup\nkubelet: {pluginsRegistry: /old}\n");
  CHECK_FALSE(contains(node.text(kDropIn, node.plan()), "/old"));
}

TEST_CASE("a directory in the configuration that differs from the node's leads to a remark, and is used") {
  const SetUpNode node("kubelet: {podResources: /a, directory: /b}\nresources: []\n");
  CHECK(node.plan().remarks.empty());  // no Kubernetes is recognized
  node.tree.file("etc/systemd/system/k3s.service", "");
  const SetupPlan plan = node.plan();
  CHECK(plan.remarks == std::vector<std::string>{
                            "/etc/plughost/config.yaml says kubelet.directory: /b; this node has it at "
                            "/var/lib/kubelet/device-plugins",
                            "/etc/plughost/config.yaml says kubelet.podResources: /a; this node has it at "
                            "/var/lib/kubelet/pod-resources/kubelet.sock"});
  CHECK(contains(node.text(kDropIn, plan), "ReadWritePaths=-/b\n"));
}

TEST_CASE("files are labelled if SELinux runs, or if it is configured to run") {
  const SetUpNode node;
  node.tree.file("sbin/restorecon");
  const auto labels = [&] { return contains(node.text(kDropIn, node.plan()), "/sbin/restorecon"); };
  CHECK_FALSE(labels());
  node.tree.file("etc/selinux/config", "# SELINUX=enforcing\nSELINUX=disabled\n");
  CHECK_FALSE(labels());
  node.tree.file("etc/selinux/config", "#\nSELINUX=permissive\n");
  CHECK(labels());
  node.tree.file("etc/selinux/config", "#\nSELINUX=enforcing\n");
  CHECK(labels());
  node.tree.remove("etc/selinux");
  node.tree.file("sys/fs/selinux/enforce", "1");
  CHECK(labels());
  CHECK(node.plan().remarks.empty());
  node.tree.remove("sbin");
  CHECK(contains(node.plan().remarks.at(0), "restorecon is missing"));
}

TEST_CASE("an SELinux policy against devices in containers leads to a remark if there are resources") {
  const SetUpNode node("resources:\n- {name: example.com/x, count: 1}\n");
  node.tree.file("sbin/restorecon");
  node.tree.file("sys/fs/selinux/enforce", "1");
  node.tree.file("sys/fs/selinux/booleans/container_use_devices", "0 0");
  CHECK(contains(node.plan().remarks.at(0), "setsebool -P container_use_devices 1"));
  node.tree.file("etc/plughost/config.yaml", "resources: []\n");
  CHECK(node.plan().remarks.empty());
  node.tree.file("etc/plughost/config.yaml", "resources:\n- {name: example.com/x, count: 1}\n");
  node.tree.file("sys/fs/selinux/booleans/container_use_devices", "1 1");
  CHECK(node.plan().remarks.empty());
  node.tree.file("sys/fs/selinux/booleans/container_use_devices", "0 0");
  node.tree.file("sys/fs/selinux/enforce", "0");
  CHECK(node.plan().remarks.empty());
}

TEST_CASE("a masked unit is reported") {
  const SetUpNode node;
  node.tree.link("etc/systemd/system/plughost.service", "/dev/null");
  CHECK(contains(node.plan().remarks.at(0), "`systemctl unmask plughost`"));
}
