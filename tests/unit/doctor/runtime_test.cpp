#include "unit/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

void promise_cdi(MadeNode& node) {
  node.configure(
      "- name: example.com/x\n  count: 1\n  annotations: {cdi.k8s.io/x: 'vendor.com/class={id}'}\n");
}

constexpr const char* kConfig = "etc/containerd/config.toml";

}  // namespace

TEST_CASE("a runtime's file that is no TOML is told with its line") {
  MadeNode node;
  promise_cdi(node);
  node.tree.file(kConfig, "version = 2\n[plugins\n");
  const Findings found = node.look("cdi");
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].level == Level::kWarning);
  CHECK(contains(found[0].what, "/etc/containerd/config.toml:2: "));
}

TEST_CASE("a CDI device is a problem as long as the runtime ignores it or nothing specifies it") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("cdi").what == "no resource uses CDI");
  promise_cdi(node);
  CHECK(node.one("cdi").level == Level::kNote);  // no runtime to be seen

  node.tree.file(kConfig, "version = 2\n");
  node.tree.file("etc/cdi/vendor.json",
                 R"({"cdiVersion": "0.5.0", "kind": "vendor.com/class", "devices": []})");
  CHECK(node.one("cdi").level == Level::kWarning);
  CHECK(contains(node.one("cdi").advice, "enable_cdi = true"));
  node.tree.file(kConfig, "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
  CHECK(node.one("cdi").level == Level::kProblem);
  CHECK(contains(node.one("cdi").why, "silently"));
  node.tree.file(kConfig, "version = 3\n");
  CHECK(node.one("cdi").level == Level::kOk);

  node.tree.remove("etc/cdi/vendor.json");
  const Finding unspecified = node.one("cdi");
  CHECK(unspecified.level == Level::kProblem);
  CHECK(contains(unspecified.what, "vendor.com/class"));
  node.tree.file("var/run/cdi/vendor.yaml", "cdiVersion: 0.5.0\nkind: vendor.com/class\n");
  CHECK(node.one("cdi").level == Level::kOk);
}

TEST_CASE("an entry with CDI names of its own needs a runtime that takes them, as every one by DRA does") {
  MadeNode node;
  for (const char* const entry : {"- {name: example.com/x, count: 1, cdi: true}\n",
                                  "- {name: example.com/x, count: 1, advertise: dra}\napiServer: {}\n"}) {
    node.configure(entry);
    node.tree.file(kConfig, "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
    CHECK(node.one("cdi").level == Level::kProblem);
    // plughost writes the specification when it runs.
    node.tree.file(kConfig, "version = 3\n");
    CHECK(node.one("cdi").level == Level::kOk);
  }
}

TEST_CASE("where the file does not say, the containerd's version does, if the API server knows it") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1, advertise: dra}\napiServer: {}\n");
  node.tree.file(kConfig, "version = 2\n");
  CHECK(node.one("cdi").level == Level::kWarning);
  ApiPermissions& access = node.observed.api_permissions.emplace();
  CHECK(node.one("cdi").level == Level::kWarning);
  access.dra.emplace().runtime = "containerd://1.7.27";
  const Finding old = node.one("cdi");
  CHECK(old.level == Level::kProblem);
  CHECK(contains(old.what, "containerd 1.7.27 has it off then"));
  CHECK(contains(old.advice, "enable_cdi = true"));
  access.dra->runtime = "containerd://2.0.0";
  CHECK(node.one("cdi").level == Level::kOk);
  access.dra->runtime = "cri-o://1.34.0";  // another one than whose file this is
  CHECK(node.one("cdi").level == Level::kWarning);
  node.tree.file(kConfig, "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nenable_cdi = false\n");
  access.dra->runtime = "containerd://2.0.0";
  CHECK(node.one("cdi").level == Level::kProblem);
}

TEST_CASE("CRI-O takes CDI devices, from where plughost writes them or not") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1, cdi: true}\n");
  node.tree.file("etc/crio/crio.conf", "[crio.runtime]\n");
  CHECK(node.one("cdi").level == Level::kOk);
  node.tree.file("etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = ['/run/cdi/']\n");
  CHECK(node.one("cdi").level == Level::kOk);
  node.tree.file("etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = ['/etc/cdi', '/opt/cdi']\n");
  const Finding finding = node.one("cdi");
  CHECK(finding.level == Level::kProblem);
  CHECK(
      finding.what ==
      "CRI-O looks for CDI specifications in /etc/cdi, /opt/cdi, and plughost writes them into /var/run/cdi");
  CHECK(contains(finding.advice, "cdi_spec_dirs"));
}

TEST_CASE("a device node without its link in /dev/char may be lost upon a daemon-reload") {
  MadeNode node;
  node.observed.numbers = {{"/dev/nvidia0", {.major = 195, .minor = 0}},
                           {"/dev/sda", {.block = true, .major = 8, .minor = 0}}};
  node.tree.link("dev/block/8:0", "../sda");
  CHECK(node.one("dev-char").level == Level::kNote);
  node.tree.directory("run/systemd/system");
  const Finding finding = node.one("dev-char");
  CHECK(finding.level == Level::kWarning);
  CHECK(contains(finding.what, "/dev/char/195:0 (/dev/nvidia0)"));
  CHECK(contains(finding.advice, "`ln -s /dev/nvidia0 /dev/char/195:0`"));
  node.tree.link("dev/char/195:0", "../nvidia0");
  CHECK(node.one("dev-char").level == Level::kOk);
}

TEST_CASE("the configuration of a containerd that came with a Kubernetes is looked at, running or not") {
  MadeNode node;
  promise_cdi(node);
  node.tree.file("etc/systemd/system/k3s.service");
  CHECK(node.one("cdi").level == Level::kNote);
  node.tree.file("var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n");
  CHECK(node.look("cdi").at(0).where == "/var/lib/rancher/k3s/agent/etc/containerd/config.toml");
}

TEST_CASE("who moves network interfaces into containers is told which runtime does not") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("net-devices").level == Level::kOk);
  node.configure(
      "- {name: example.com/x, udev: {subsystem: net}, cdi: true, netDevices: [{hostInterfaceName: "
      "eth1}]}\n");
  const auto levels = [&](const char* containerd, const char* runc) {
    node.observed.containerd_version = containerd;
    node.observed.runc_version = runc;
    const Findings found = node.look("net-devices");
    REQUIRE(found.size() == 2);
    return std::pair(found[0].level, found[1].level);
  };
  const char* const containerd = "containerd github.com/containerd/containerd/v2 v2.2.1 0a1b2c";
  const char* const runc = "runc version 1.4.0";
  CHECK(levels(containerd, runc) == std::pair(Level::kOk, Level::kOk));
  CHECK(levels("containerd x v2.3.0-rc.1", "runc version 2.0.0") == std::pair(Level::kOk, Level::kOk));
  CHECK(levels("containerd github.com/containerd/containerd/v2 v2.2.0 0a", runc) ==
        std::pair(Level::kProblem, Level::kOk));
  CHECK(levels("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1",
               "runc version 1.1.5+ds1") == std::pair(Level::kProblem, Level::kProblem));
  CHECK(node.look("net-devices").at(0).what == "this is 1.6.20, and `netDevices` needs 2.2.1");
  CHECK(contains(node.look("net-devices").at(0).why, "unresolvable CDI devices"));
  CHECK(contains(node.look("net-devices").at(1).why, "silently"));
  CHECK(levels(containerd, "runc version 1.3.9") == std::pair(Level::kOk, Level::kProblem));
  CHECK(levels("", "crun version 1.8.1") == std::pair(Level::kNote, Level::kNote));
  CHECK(levels("k3s version v1.36.2+k3s1", "runc version 1.4") == std::pair(Level::kNote, Level::kNote));
}
