// Checks that configurations of other device plugins are refused with a hint, converted, and served under
// their former names.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "integration/node.hpp"
#include "places.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// Runs `plughost convert`, makes its standard output the node's configuration, and returns the rest of its
// result.
Finished convert(const Node& node, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "convert");
  const std::string to = node.path("converted.yaml");
  Finished finished = run_plughost(arguments, {"sh", "-c", "exec \"$@\" > " + to, "sh"});
  node.files().file("config.yaml", "kubelet: {directory: " + node.plugins().string() + ", podResources: " +
                                       node.path(Node::kPodResources) + "}\n" + content(to));
  return finished;
}

// Checks that the other plugin's file is refused, and served after conversion. `cards` describes the cards
// for the fake NVIDIA library; `exit_code` is the one that convert must have.
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
  CHECK(has(converted.output, file + ": recognised as the configuration of " + from));
  CHECK(has(content(node.path("converted.yaml")), "for the configuration of"));
  node.start_kubelet();
  node.files().file("cards", cards);
  node.start_daemon(
      {std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory, "PLUGHOST_FAKE_NVML=" + node.path("cards")});
  CHECK(node.attached(names));
  CHECK(node.kubelet().state().resources.size() == names.size());
}

}  // namespace

TEST_CASE("generic-device-plugin's devices keep their names, number and nodes") {
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

TEST_CASE("a command line is enough to convert generic-device-plugin") {
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

TEST_CASE("smarter-device-manager's matches are separate resources") {
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

TEST_CASE("NVIDIA's GPUs are served under NVIDIA's names, with their former sharing") {
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

TEST_CASE("convert reads a manifest from a pipe, and prints where it has found a configuration") {
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
