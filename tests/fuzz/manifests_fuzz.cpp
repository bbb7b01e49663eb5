// Converts documents that are built of the words of manifests, charts and configurations, beside one that is
// right: whatever the others are, that one is converted, and the result is valid YAML.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "base/document/yaml.hpp"
#include "tools/convert/convert.hpp"

namespace {

using plughost::Node;

constexpr const char* kWords[] = {
    // clang-format off
    "apiVersion", "kind", "metadata", "name", "namespace", "spec", "data", "items", "template", "containers",
    "initContainers", "image", "repository", "registry", "tag", "version", "args", "command", "env", "value",
    "volumes", "configMap", "projected", "sources", "nodeSelector", "affinity", "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "key", "operator",
    "In", "Gt", "values", "valuesFrom", "valuesKey", "valuesContent", "valuesObject", "valuesInline", "valuesFile",
    "valueFiles", "parameters", "set", "helm", "chart", "chartRef", "repoURL", "path", "prune", "sourceRef", "url",
    "dependencies", "alias", "configMapGenerator", "files", "literals", "persistence", "type", "v1", "v2", "List",
    "ConfigMap", "Pod", "HelmRelease", "Application", "OCIRepository", "Kustomization", "CustomResourceDefinition",
    "ClusterPolicy", "nvidia.com/v1", "DeviceConfig", "amd.com/v1", "GpuDevicePlugin", "deviceplugin.intel.com/v1",
    "Configuration", "akri.sh/v0", "SriovNetworkNodePolicy", "sriovnetwork.openshift.io/v1", "KubeVirt",
    "nvidia-device-plugin", "gpu-operator", "intel-device-plugins-gpu", "amd-gpu", "app-template",
    "generic-device-plugin", "nvidia/k8s-device-plugin", "k8s-device-plugin", "smarter-device-manager",
    "projecthami/hami", "devicePlugin", "enabled", "config", "map", "default", "mig", "strategy", "migStrategy",
    "sharedDevNum", "deviceListStrategy", "dp", "udev", "configuration", "discoveryDetails", "udevRules", "onvif",
    "devices", "device", "domain", "groups", "count", "paths", "usb", "vendor", "product", "serial", "limit",
    "devicematch", "nummaxdevices", "configList", "resourceList", "resourceName", "rdmaHcaMax", "selectors",
    "vendors", "drivers", "pfNames", "rootDevices", "isRdma", "flags", "plugin", "sharing", "timeSlicing", "mps",
    "resources", "replicas", "imex", "channelIDs", "genericDevicePlugin", "status", "permittedHostDevices",
    "usbHostDevices", "mediatedDevices", "sops", "mac", "limits", "true", "false", "4", "/dev/a", "a", "b",
    "${values}", "values.yaml", "KERNEL==\"video[0-9]*\"", "SUBSYSTEM==\"tty\"", "--device={name: a, groups: []}",
    "--mig-strategy=mixed", "sh", "-c", "#!/bin/sh", "ens1f0#0-3", "15b3", "vfio-pci", "^tty(USB|ACM)[0-9]*$",
    "{devices: [{name: a, groups: [{paths: [{path: /dev/a}]}]}]}", "version: v1", "[", "migStrategy: mixed",
    // clang-format on
};

class Builder {
 public:
  Builder(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  bool done() const { return next_ == end_; }

  Node node(unsigned depth) {
    Node node{.mark = mark()};
    const unsigned choice = byte();
    const std::size_t size = choice / 4 % 8;
    if (depth == 0 || choice % 4 == 0) {
      node.kind = choice % 32 == 0 ? Node::Kind::kNull : Node::Kind::kScalar;
      if (node.kind == Node::Kind::kScalar) node.scalar = word();
    } else if (choice % 4 == 1) {
      node.kind = Node::Kind::kSequence;
      for (std::size_t i = 0; i < size && !done(); ++i) node.items.push_back(this->node(depth - 1));
    } else {
      node.kind = Node::Kind::kMap;
      for (std::size_t i = 0; i < size && !done(); ++i) {
        Node key{.kind = Node::Kind::kScalar, .mark = mark(), .scalar = word()};
        if (!node.find(key.scalar)) node.members.push_back({std::move(key), this->node(depth - 1)});
      }
    }
    return node;
  }

  void next_file() { file_ = "f" + std::to_string(++files_ % 3) + ".yaml"; }

 private:
  std::uint8_t byte() { return done() ? 0 : *next_++; }
  std::string word() { return kWords[byte() % std::size(kWords)]; }
  plughost::Mark mark() { return {.file = file_, .line = ++line_, .column = 1}; }

  const std::uint8_t* next_;
  const std::uint8_t* end_;
  std::string file_ = "f0.yaml";
  unsigned files_ = 0;
  int line_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plughost;
  constexpr unsigned kDepth = 9;
  constexpr std::size_t kMostDocuments = 6;
  Builder builder(data, size);
  std::vector<Node> documents;
  while (!builder.done() && documents.size() < kMostDocuments) {
    documents.push_back(builder.node(kDepth));
    builder.next_file();
  }
  Diagnostics diagnostics;
  documents.push_back(
      *parse_yaml("permittedHostDevices: {pciHostDevices: [{pciVendorSelector: \"10de:2236\", resourceName: "
                  "z.example/kept}]}",
                  "kept.yaml", diagnostics));
  const auto conversion = convert(documents, "", diagnostics);
  if (!conversion || conversion->text.find("\n- name: z.example/kept\n") == std::string::npos) std::abort();
  Diagnostics ours;
  if (!parse_yaml(conversion->text, "ours", ours) || ours.has_errors()) std::abort();
  return 0;
}
