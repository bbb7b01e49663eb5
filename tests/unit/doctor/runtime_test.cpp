#include "doctor/runtime_settings.hpp"

#include "unit/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using Cdi = RuntimeSettings::Cdi;

namespace {

void promise_cdi(MadeNode& node) {
  node.configure(
      "- name: example.com/x\n  count: 1\n  annotations: {cdi.k8s.io/x: 'vendor.com/class={id}'}\n");
}

constexpr const char* kConfig = "etc/containerd/config.toml";

}  // namespace

TEST_CASE("containerd's settings are found in each version's place, imports included") {
  MadeNode node;
  CHECK_FALSE(runtime_settings(node.host));
  node.tree.file(kConfig, "version = 2\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOffByDefault);
  CHECK(runtime_settings(node.host)->spec_dirs == std::vector<std::string>{"/etc/cdi", "/var/run/cdi"});
  node.tree.file(kConfig, "version = 3\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOn);
  node.tree.file(kConfig,
                 "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = true\n"
                 "cdi_spec_dirs = [\"/opt/cdi\"]\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOn);
  CHECK(runtime_settings(node.host)->spec_dirs == std::vector<std::string>{"/opt/cdi"});
  node.tree.file(kConfig, "version = 3\nimports = [\"conf.d/*.toml\"]\n");
  node.tree.file("etc/containerd/conf.d/cdi.toml",
                 "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOff);
}

TEST_CASE("the file of the containerd that runs counts") {
  MadeNode node;
  node.tree.file(kConfig, "version = 3\n");
  node.tree.file("var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n");
  node.process(5, "containerd -c /var/lib/rancher/k3s/agent/etc/containerd/config.toml");
  CHECK(runtime_settings(node.host)->file == "/var/lib/rancher/k3s/agent/etc/containerd/config.toml");
  CHECK(runtime_settings(node.host)->cdi == Cdi::kOffByDefault);
}

TEST_CASE("CRI-O's drop-ins win over its main file") {
  MadeNode node;
  node.tree.file("etc/crio/crio.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/a\"]\n");
  node.tree.file("etc/crio/crio.conf.d/10.conf", "[crio.runtime]\ncdi_spec_dirs = [\"/b\"]\n");
  const auto settings = runtime_settings(node.host);
  CHECK(settings->runtime == "CRI-O");
  CHECK(settings->cdi == Cdi::kOn);
  CHECK(settings->spec_dirs == std::vector<std::string>{"/b"});
}

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
