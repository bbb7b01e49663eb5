#include "config/other_plugin.hpp"

#include <algorithm>
#include <array>

namespace plughost {
namespace {

bool has(const Node& root, std::string_view key, Node::Kind kind) {
  const Node* const value = root.find(key);
  return value && value->kind == kind;
}

bool is_generic(const Node& root) {
  static constexpr std::array<std::string_view, 4> kOurs = {"resources", "kubelet", "log", "include"};
  if (std::ranges::any_of(kOurs, [&](std::string_view key) { return root.find(key); })) return false;
  return has(root, "devices", Node::Kind::kSequence) || has(root, "device", Node::Kind::kSequence);
}

}  // namespace

std::optional<OtherPlugin> other_plugin(const Node& root) {
  using enum OtherPlugin;
  if (root.kind == Node::Kind::kSequence) {
    if (!root.items.empty() && root.items.front().find("devicematch")) return kSmarter;
    return std::nullopt;
  }
  if (has(root, "configList", Node::Kind::kSequence)) return kRdmaShared;
  if (has(root, "resourceList", Node::Kind::kSequence)) return kSriov;
  if (has(root, "genericDevicePlugin", Node::Kind::kMap)) return kMicroShift;
  const bool versioned = has(root, "version", Node::Kind::kScalar);
  if (versioned && (root.find("flags") || root.find("sharing") || has(root, "resources", Node::Kind::kMap)))
    return kNvidia;
  if (is_generic(root)) return kGenericDevicePlugin;
  return std::nullopt;
}

std::string_view name_of(OtherPlugin plugin) {
  switch (plugin) {
    case OtherPlugin::kGenericDevicePlugin:
      return "generic-device-plugin";
    case OtherPlugin::kMicroShift:
      return "MicroShift's genericDevicePlugin";
    case OtherPlugin::kNvidia:
      return "NVIDIA's k8s-device-plugin";
    case OtherPlugin::kRdmaShared:
      return "k8s-rdma-shared-dev-plugin";
    case OtherPlugin::kSmarter:
      return "smarter-device-manager";
    case OtherPlugin::kSriov:
      return "sriov-network-device-plugin";
  }
  return "";
}

}  // namespace plughost
