#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

void promise_cdi(MadeNode& node) {
  node.configure(
      "- name: example.com/x\n  count: 1\n  annotations: {cdi.k8s.io/x: 'vendor.com/class={id}'}\n");
}

constexpr const char* kConfig = "etc/containerd/config.toml";
constexpr const char* kOff = "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nenable_cdi = false\n";

}  // namespace

TEST_CASE("an invalid TOML file of a runtime is reported with its line") {
  MadeNode node;
  promise_cdi(node);
  node.tree.file(kConfig, "version = 2\n[plugins\n");
  const Findings found = node.look("cdi");
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].level == Level::kWarning);
  CHECK(contains(found[0].what, "/etc/containerd/config.toml:2: "));
}

TEST_CASE("a CDI device is a problem as long as the runtime ignores it or no specification has it") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("cdi").what == "no resource uses CDI");
  promise_cdi(node);
  CHECK(node.one("cdi").level == Level::kNote);  // no runtime is found

  node.tree.file(kConfig, "version = 2\n");
  node.tree.file("etc/cdi/vendor.json",
                 R"({"cdiVersion": "0.5.0", "kind": "vendor.com/class", "devices": []})");
  CHECK(node.one("cdi").level == Level::kWarning);
  CHECK(contains(node.one("cdi").advice, "enable_cdi = true"));
  node.tree.file(kConfig, kOff);
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

TEST_CASE("every use of CDI in an entry is a problem while the runtime has CDI off") {
  MadeNode node;
  node.tree.file(kConfig, kOff);
  for (const std::string entry :
       {"- {name: example.com/x, groups: [{paths: [{path: /dev/none}]}], cdi: true}\n",
        "- {name: example.com/x, groups: [{paths: [{path: /dev/none}]}], cdi: annotations}\n",
        "- {name: 'example.com/{name}', groups: [{paths: [{path: /dev/none}]}], cdi: cri}\n",
        "- {name: example.com/x, count: 1, annotations: {cdi.k8s.io/x: '{id}'}}\n",
        "- {name: example.com/g, gpu: {vendor: nvidia, deviceListStrategy: cdi-cri}}\n",
        "- {name: example.com/g, gpu: {vendor: nvidia, deviceListStrategy: cdi-annotations}}\n",
        "- {name: example.com/g, gpu: {vendor: nvidia, unit: {memory: 1GiB}}, "
        "assume: {dialect: doslab, identify: late}, cdi: true}\n",
        "- {name: example.com/x, count: 1}\n- {name: example.com/x, count: 2, cdi: true, "
        "id: 'b{n}'}\n"}) {
    CAPTURE(entry);
    node.configure(entry, "apiServer: {}\n");
    const Finding off = node.one("cdi");
    CHECK(off.level == Level::kProblem);
    CHECK(off.what == "CDI is turned off for containerd");
    CHECK(contains(off.advice, "enable_cdi = true"));
  }
}

TEST_CASE("an entry that does not apply on this node, or does not use CDI, needs no CDI") {
  MadeNode node;
  node.tree.file(kConfig, kOff);
  node.configure("- {name: example.com/x, count: 1, cdi: true, when: {hostname: another-node}}\n");
  CHECK(node.one("cdi").what == "no resource uses CDI");
  node.configure(
      "- {name: example.com/g, gpu: {vendor: nvidia}}\n- {name: example.com/x, count: 1, cdi: false}\n");
  CHECK(node.one("cdi").what == "no resource uses CDI");
  node.configure("- {name: example.com/x, count: 1, allocate: {exec: [/bin/true]}}\n");
  CHECK(node.one("cdi").level == Level::kOk);
  CHECK(node.one("cdi").what == "no resource uses CDI, unless an `allocate` program names CDI devices");
}

TEST_CASE("the runtime must read the directory of plughost's specifications") {
  MadeNode node;
  const std::string entry = "- {name: example.com/x, groups: [{paths: [{path: /dev/none}]}], cdi: true}\n";
  node.tree.link("var/run", "../run");
  node.tree.directory("run");
  node.tree.file(kConfig, "version = 3\n");
  node.configure(entry);
  CHECK(node.one("cdi").level == Level::kOk);  // the daemon will write the specification
  node.configure(entry, "cdi: {directory: /run/cdi/}\n");
  CHECK(node.one("cdi").level == Level::kOk);  // /var/run/cdi, which the runtime reads, is the same

  node.configure(entry, "cdi: {directory: /run/other}\n");
  const Finding elsewhere = node.one("cdi");
  CHECK(elsewhere.level == Level::kProblem);
  CHECK(elsewhere.where == "/etc/containerd/config.toml");
  CHECK(elsewhere.what ==
        "containerd does not read /run/other, where plughost writes the CDI specifications of example.com/x; "
        "it "
        "reads /etc/cdi, /var/run/cdi");
  CHECK(contains(elsewhere.advice, "cdi_spec_dirs"));
  node.tree.file(kConfig,
                 "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\ncdi_spec_dirs = ['/run/other/']\n");
  CHECK(node.one("cdi").level == Level::kOk);

  node.tree.file(kConfig, "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\ncdi_spec_dirs = []\n");
  CHECK(contains(node.one("cdi").what, "; it reads no directory"));
  node.tree.file(kConfig, "version = 3\n[plugins\n");
  CHECK(node.one("cdi").level == Level::kWarning);  // the runtime's directories are unknown
}

TEST_CASE("a CDI specification that the daemon will make from a program's output counts as present") {
  MadeNode node;
  node.tree.file(kConfig, "version = 3\n");
  node.configure("- {name: example.com/x, count: 1, annotations: {cdi.k8s.io/x: 'vendor.com/gpu={id}'}}\n");
  CHECK(node.one("cdi").level == Level::kProblem);
  node.observed.devices.cdi = {{.name = "x.json", .text = R"({"kind": "vendor.com/gpu"})"}};
  CHECK(node.one("cdi").level == Level::kOk);
}

TEST_CASE(
    "a device node that only root may open is a note, unless the runtime gives the node to containers' "
    "users") {
  MadeNode node;
  CHECK(node.one("access").level == Level::kOk);
  node.observed.closed_nodes = {{"/dev/ttyUSB0", "660 0:20"}};
  const Finding note = node.one("access");
  CHECK(note.level == Level::kNote);
  CHECK(note.where == "container runtime");
  CHECK(contains(note.what, "may open /dev/ttyUSB0 (660 0:20)"));
  CHECK(contains(note.advice, "`access: group`"));
  node.tree.file(kConfig, "version = 3\n");
  CHECK(node.one("access").where == "/etc/containerd/config.toml");
  CHECK(node.one("access").level == Level::kNote);
  node.tree.file(kConfig,
                 "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n"
                 "device_ownership_from_security_context = true\n");
  CHECK(node.one("access").level == Level::kOk);
}

TEST_CASE(
    "a device node without a link in /dev/char is a warning on a node with systemd, and a note elsewhere") {
  MadeNode node;
  node.observed.links = {{"/dev/nvidia0", "/dev/char/195:0"}, {"/dev/sda", "/dev/block/8:0"}};
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

TEST_CASE("the configuration of k3s's own containerd is read, even if k3s does not run") {
  MadeNode node;
  promise_cdi(node);
  node.tree.file("etc/systemd/system/k3s.service");
  CHECK(node.one("cdi").level == Level::kNote);
  node.tree.file("var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n");
  CHECK(node.look("cdi").at(0).where == "/var/lib/rancher/k3s/agent/etc/containerd/config.toml");
}
