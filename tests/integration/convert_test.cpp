// Configurations of other device plugins: refused with a hint, converted, and served under the names that
// they had.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "integration/node.hpp"
#include "places.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What the command wrote to standard output is then the node's configuration; returns the rest.
Finished convert(const Node& node, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "convert");
  const std::string to = node.path("converted.yaml");
  Finished finished = run_plughost(arguments, {"sh", "-c", "exec \"$@\" > " + to, "sh"});
  node.files().file("config.yaml", "kubelet: {directory: " + node.plugins().string() + ", podResources: " +
                                       node.path(Node::kPodResources) + "}\n" + content(to));
  return finished;
}

// Theirs, in a file, is refused as it is, and served once it is converted. cards: what NVIDIA's library
// shows. exit_code: of convert.
void check_served(const std::string& theirs, const std::string& from, const Node::Names& names,
                  const std::string& cards = {}, int exit_code = 0) {
  Node node;
  node.files().file("theirs", theirs);
  const std::string file = node.path("theirs");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"check", file}, std::vector<std::string>{"run", "--config", file}}) {
    const Finished refused = run_plughost(command);
    CHECK(refused.exit_code == 1);
    CHECK(has(refused.output, "plughost convert " + file));
    CHECK(has(refused.output, from));
  }
  const Finished converted = convert(node, {file});
  CHECK(converted.exit_code == exit_code);
  CHECK(has(converted.output, file + ": taken for the configuration of " + from));
  CHECK(has(content(node.path("converted.yaml")), "for the configuration of"));
  node.start_kubelet();
  node.files().file("cards", cards);
  node.start_daemon(
      {std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory, "PLUGHOST_FAKE_NVML=" + node.path("cards")});
  CHECK(node.attached(names));
  CHECK(node.kubelet().state().resources.size() == names.size());
}

}  // namespace

TEST_CASE("generic-device-plugin's devices keep their names, their number and their nodes") {
  Node node;
  node.files().file("theirs",
                    "device: [{name: nothing, groups: [{count: 3, paths: [{path: /dev/null, mountPath: "
                    "/dev/sink}]}]}]\n");
  const Finished converted = convert(node, {node.path("theirs")});
  CHECK(converted.exit_code == 0);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count("devic.es/nothing", 3));
  const Admission pod = node.kubelet().allocate("pod", "c", "devic.es/nothing", 1);
  REQUIRE(pod.admitted());
  REQUIRE(pod.answer.nodes.size() == 1);
  CHECK(pod.answer.nodes[0].host_path == "/dev/null");
  CHECK(pod.answer.nodes[0].container_path == "/dev/sink");
  CHECK(pod.answer.nodes[0].permissions == "mrw");
}

TEST_CASE("a command line is enough for generic-device-plugin") {
  Node node;
  const Finished converted = convert(
      node, {"--args",
             "--domain lab.example --device '{\"name\": \"noise\", \"groups\": [{\"paths\": [{\"path\": "
             "\"/dev/zero\"}]}, {\"paths\": [{\"path\": \"/dev/full\"}]}]}'"});
  CHECK(converted.exit_code == 0);
  node.start_kubelet();
  node.start_daemon();
  CHECK(node.count("lab.example/noise", 2));
}

TEST_CASE("MicroShift's section is served under its domain") {
  check_served(
      "genericDevicePlugin:\n"
      "  status: Enabled\n"
      "  devices:\n"
      "  - {name: zero, groups: [{paths: [{path: /dev/zero}]}]}\n",
      "MicroShift's genericDevicePlugin", {"device.microshift.io/zero"});
}

TEST_CASE("smarter-device-manager's matches are resources of their own") {
  check_served(
      "- {devicematch: ^null$, nummaxdevices: 20}\n"
      "- {devicematch: '^(zero|full)$', nummaxdevices: 1}\n"
      "- {devicematch: '^no-such-[0-9]+$', nummaxdevices: 1}\n",
      "smarter-device-manager", {"smarter-devices/null", "smarter-devices/zero", "smarter-devices/full"});
}

TEST_CASE("k8s-rdma-shared-dev-plugin's pools are served, with or without cards") {
  check_served(R"({"configList": [
    {"resourceName": "hca_a", "rdmaHcaMax": 100, "devices": ["ib0"]},
    {"resourceName": "hca_b", "resourcePrefix": "fabric.example", "rdmaHcaMax": 5, "selectors": {"vendors": ["15b3"]}}
  ]})",
               "k8s-rdma-shared-dev-plugin", {"rdma/hca_a", "fabric.example/hca_b"});
}

TEST_CASE("sriov-network-device-plugin's resources with device nodes are served, with or without cards") {
  check_served(R"({"resourceList": [
    {"resourceName": "rdma_vf", "selectors": [{"vendors": ["15b3"], "isRdma": true}]},
    {"resourceName": "dpdk", "resourcePrefix": "packets.example", "selectors": [{"drivers": ["vfio-pci"]}]},
    {"resourceName": "netdevice", "selectors": [{"drivers": ["iavf"]}]}
  ]})",
               "sriov-network-device-plugin", {"intel.com/rdma_vf", "packets.example/dpdk"}, {}, 3);
}

TEST_CASE("NVIDIA's GPUs are served under NVIDIA's names, shared as they were") {
  const std::string card = "card GPU-a minor=0 pci=0000:3b:00.0 memory=81559 name=NVIDIA_H100\n";
  const std::string divided =
      "card GPU-b minor=1 pci=0000:86:00.0 memory=40960 mig=1\n"
      "mig 1 MIG-b gi=1 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb\n";
  const std::string from = "NVIDIA's k8s-device-plugin";
  check_served("{version: v1, flags: {migStrategy: none, plugin: {passDeviceSpecs: true}}}\n", from,
               {"nvidia.com/gpu"}, card);
  check_served("{version: v1, flags: {migStrategy: mixed}}\n", from,
               {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb"}, card + divided);
  check_served(
      "{version: v1, sharing: {timeSlicing: {renameByDefault: true, failRequestsGreaterThanOne: true, "
      "resources: "
      "[{name: nvidia.com/gpu, replicas: 4}]}}}\n",
      from, {"nvidia.com/gpu.shared"}, card);
  check_served("{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}\n",
               from, {"nvidia.com/gpu"}, card);
}

TEST_CASE("what nobody's configuration looks like is refused with what was looked for") {
  Node node;
  node.files().file("theirs", "service: web\n");
  const Finished refused = run_plughost({"convert", node.path("theirs")});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, node.path("theirs") + ":1:1: "));
  CHECK(has(refused.output, "k8s-rdma-shared-dev-plugin"));
  CHECK(run_plughost({"convert", node.path("absent")}).exit_code == 1);
  CHECK(run_plughost({"convert"}).exit_code == 2);
}

TEST_CASE("a manifest comes through a pipe, and what was found in what is said") {
  Node node;
  node.files().file(
      "manifest",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, namespace: s}\ndata:\n  a.yaml: |\n"
      "    domain: a.example\n    devices: [{name: full, groups: [{paths: [{path: /dev//full}]}]}]\n"
      "---\napiVersion: v1\nkind: Service\nmetadata: {name: n}\n");
  for (const char* file : {"-", "/dev/stdin"}) {
    const Finished piped =
        run_plughost({"convert", file}, {"sh", "-c", "cat " + node.path("manifest") + " | \"$@\"", "sh"});
    CHECK(piped.exit_code == 0);
    CHECK(has(piped.output, ": ConfigMap s/n, key a.yaml: the configuration of generic-device-plugin\n"));
    CHECK(has(piped.output, "domain: a.example"));
    CHECK(has(piped.output, "path: /dev/full\n"));
  }
}

TEST_CASE("what check would refuse is refused by convert, with its place") {
  Node node;
  node.files().file("theirs", "domain: a_b\ndevices: [{name: a, groups: [{paths: [{path: /dev/full}]}]}]\n");
  const Finished refused =
      run_plughost({"convert", node.path("theirs")}, {"sh", "-c", "\"$@\" > /dev/null", "sh"});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, "what it becomes:"));
  CHECK(has(refused.output, "'a_b' is no valid domain"));
  CHECK(has(refused.output, "plughost would refuse what it becomes"));
}

TEST_CASE("a template of Helm's is refused with the command that makes a manifest of it") {
  Node node;
  node.files().file("daemonset.yaml", "spec:\n{{- with .Values.devices }}\n- {{ . }}\n{{- end }}\n");
  const Finished refused = run_plughost({"convert", node.path("daemonset.yaml")});
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, "`helm get manifest RELEASE | plughost convert -`"));
}

TEST_CASE("a template that happens to be YAML is called a template, and so are other languages") {
  Node node;
  node.files().file("a.yaml", "kind: DaemonSet\napiVersion: apps/v1\nspec: {name: \"{{ .Values.name }}\"}\n");
  const Finished yaml = run_plughost({"convert", node.path("a.yaml")});
  CHECK(yaml.exit_code == 1);
  CHECK(yaml.output == node.path("a.yaml") +
                           ": this is a template of Helm's; `helm get manifest RELEASE | plughost "
                           "convert -` has what it became, and `helm template CHART -f VALUES | "
                           "plughost convert -` what it becomes\n");
  node.files().file("gpu.tf", "resource \"helm_release\" \"gpu\" {\n  chart = \"nvidia-device-plugin\"\n}\n");
  const Finished terraform = run_plughost({"convert", node.path("gpu.tf")});
  CHECK(terraform.exit_code == 1);
  CHECK(has(terraform.output, "gpu.tf: this is Terraform; "));
}

TEST_CASE("of a directory each file is said to be a configuration, or not, or not to be read") {
  Node node;
  std::filesystem::create_directories(node.path("apps/serial/.git"));
  std::filesystem::create_directories(node.path("apps/charts"));
  node.files().file("apps/serial/config.yaml",
                    "domain: a.example\ndevices: [{name: full, groups: [{paths: [{path: /dev/full}]}]}]\n");
  node.files().file("apps/serial/.git/old.yaml", "domain: b.example\ndevices: []\n");
  node.files().file("apps/service.yml", "kind: Service\napiVersion: v1\n");
  node.files().file("apps/charts/daemonset.yaml",
                    "spec:\n{{- with .Values.devices }}\n- {{ . }}\n{{- end }}\n");
  const Finished finished = run_plughost({"convert", node.path("apps")});
  CHECK(finished.exit_code == 0);
  const std::string apps = node.path("apps");
  CHECK(has(finished.output, apps + "/serial/config.yaml: a configuration\n"));
  CHECK(has(finished.output, apps + "/charts/daemonset.yaml: not read: this is a template of Helm's"));
  CHECK(
      has(finished.output, apps + ": 2 files read; without a configuration: 1 (" + apps + "/service.yml)\n"));
  CHECK(has(finished.output, "domain: a.example\n"));
  CHECK_FALSE(has(finished.output, "b.example"));

  // A file's name is a stranger's: it neither ends a line nor reaches the terminal.
  node.files().file("apps/a\x1b[2J\nb.yaml", "kind: Service\n");
  CHECK(has(run_plughost({"convert", apps}).output, "(" + apps + "/a\\x1B[2J\\x0Ab.yaml, "));

  // What cannot be read may have had a device plugin in it.
  node.files().file("apps/charts/daemonset.yaml", "image: generic-device-plugin\n{{- end }}\n");
  CHECK(run_plughost({"convert", apps}).exit_code == 3);
  std::filesystem::create_directories(node.path("none"));
  const Finished none = run_plughost({"convert", node.path("none")});
  CHECK(none.exit_code == 1);
  CHECK(has(none.output, "no file *.yaml, *.yml or *.json in this directory can be read"));
}

TEST_CASE("what is not kept is listed on standard error, the exit code says so, and the rest is printed") {
  Node node;
  node.files().file("theirs",
                    "devices:\n- {name: a, colour: red, groups: [{paths: [{path: /dev/null}]}]}\n"
                    "- {name: b, groups: [{paths: [{path: /dev/zero}]}]}\n");
  const std::string file = node.path("theirs");
  const Finished errors = run_plughost({"convert", file}, {"sh", "-c", "exec \"$@\" > /dev/null", "sh"});
  CHECK(errors.exit_code == 3);
  CHECK(has(errors.output, file + ": not kept: a: 'colour': plughost has nothing of that name; left out.\n"));
  CHECK(has(errors.output, file + ": not certain: The domain is a guess"));
  const Finished text = convert(node, {file});
  CHECK(text.exit_code == 3);
  CHECK(has(content(node.path("converted.yaml")), "- name: b\n"));
}

TEST_CASE("when nothing can be kept, convert says so with its exit code, and prints why") {
  Node node;
  node.files().file("theirs",
                    R"({"resourceList": [{"resourceName": "a", "selectors": [{"drivers": ["iavf"]}]}]})");
  const Finished finished = run_plughost({"convert", node.path("theirs")});
  CHECK(finished.exit_code == 1);
  CHECK(has(finished.output, "nothing of it can be kept"));
  CHECK(has(finished.output, "# intel.com/a cannot be kept."));
}

TEST_CASE("when no item of KubeVirt's can be kept, standard error has the reason for each") {
  Node node;
  node.files().file("theirs",
                    "permittedHostDevices:\n  usb:\n  - resourceName: a.example/b\n"
                    "    selectors: [{vendor: \"096e\", product: \"0006\"}]\n"
                    "  mediatedDevices:\n  - {mdevNameSelector: GRID T4-4Q, resourceName: a.example/c}\n");
  const std::string file = node.path("theirs");
  const Finished errors = convert(node, {file});
  CHECK(errors.exit_code == 1);
  CHECK(has(errors.output, file + ": not kept: a.example/b is left out: KubeVirt tells a virtual machine"));
  CHECK(has(errors.output, file + ": not kept: a.example/c ('GRID T4-4Q') is left out: mediated devices"));
  CHECK(has(errors.output, file + ": nothing of it can be kept"));
}

TEST_CASE("a configuration that lists nothing is said to have no resource") {
  Node node;
  node.files().file("theirs", R"({"resourceList": []})");
  const Finished finished = run_plughost({"convert", node.path("theirs")});
  CHECK(finished.exit_code == 1);
  CHECK(has(finished.output, ": it has no resource"));
  CHECK_FALSE(has(finished.output, "nothing of it can be kept"));
}
