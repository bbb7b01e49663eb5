#include "config/other_plugin.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace plughost {
namespace {

bool has(const Node& root, std::string_view key, Node::Kind kind) {
  const Node* const value = root.find(key);
  return value && value->kind == kind;
}

// As Go's libraries find keys: whatever their case.
const Node* find_any_case(const Node& root, std::string_view key) {
  const auto found = std::ranges::find_if(root.members, [&](const Node::Member& member) {
    return to_lower(member.first.scalar) == to_lower(key);
  });
  return found == root.members.end() ? nullptr : &found->second;
}

template <std::size_t n>
bool has_any_of(const Node* map, const std::array<std::string_view, n>& keys) {
  return map && std::ranges::any_of(keys, [&](std::string_view key) { return find_any_case(*map, key); });
}

bool is_generic(const Node& root) {
  static constexpr std::array<std::string_view, 4> kOurs = {"resources", "kubelet", "log", "include"};
  if (std::ranges::any_of(kOurs, [&](std::string_view key) { return root.find(key); })) return false;
  static constexpr std::array<std::string_view, 2> kTheirs = {"devices", "device"};
  return std::ranges::any_of(kTheirs, [&](std::string_view key) {
    const Node* const value = find_any_case(root, key);
    return value && value->kind == Node::Kind::kSequence;
  });
}

// `version` may be missing. Charts have a version and resources, too.
bool is_nvidia(const Node& root) {
  static constexpr std::array<std::string_view, 2> kSharing = {"timeSlicing", "mps"};
  static constexpr std::array<std::string_view, 8> kFlags = {
      "migStrategy",  "plugin", "failOnInitError", "nvidiaDriverRoot", "gdsEnabled",
      "mofedEnabled", "gfd",    "imexRequired"};
  static constexpr std::array<std::string_view, 3> kResources = {"gpus", "mig", "migs"};
  const Node* const version = find_any_case(root, "version");
  const bool versioned = version && version->scalar == "v1";
  return has_any_of(find_any_case(root, "sharing"), kSharing) ||
         has_any_of(find_any_case(root, "flags"), kFlags) ||
         has_any_of(find_any_case(root, "resources"), kResources) ||
         (versioned && (find_any_case(root, "flags") || find_any_case(root, "sharing")));
}

bool is_volcano(const Node& root) {
  static constexpr std::array<std::string_view, 2> kFlags = {"GPUStrategy", "GPUMemoryFactor"};
  return has_any_of(find_any_case(root, "flags"), kFlags);
}

bool is_akri(const Node& root) {
  const Node* const version = root.find("apiVersion");
  const Node* const kind = root.find("kind");
  return version && version->scalar.starts_with("akri.sh/") && kind && kind->scalar == "Configuration";
}

bool has_devicematch(const Node& item) { return item.find("devicematch") != nullptr; }

}  // namespace

std::optional<OtherPlugin> other_plugin(const Node& root) {
  using enum OtherPlugin;
  if (root.kind == Node::Kind::kSequence)
    return std::ranges::any_of(root.items, has_devicematch) ? std::optional(kSmarter) : std::nullopt;
  if (has(root, "configList", Node::Kind::kSequence)) return kRdmaShared;
  if (has(root, "resourceList", Node::Kind::kSequence)) return kSriov;
  if (has(root, "genericDevicePlugin", Node::Kind::kMap)) return kMicroShift;
  if (has(root, "permittedHostDevices", Node::Kind::kMap)) return kKubeVirt;
  if (is_akri(root)) return kAkri;
  if (is_volcano(root)) return kVolcano;
  if (is_nvidia(root)) return kNvidia;
  if (is_generic(root)) return kGenericDevicePlugin;
  return std::nullopt;
}

std::string_view name_of(OtherPlugin plugin) {
  switch (plugin) {
    case OtherPlugin::kAkri:
      return "Akri";
    case OtherPlugin::kGenericDevicePlugin:
      return "generic-device-plugin";
    case OtherPlugin::kGpushare:
      return "gpushare-device-plugin";
    case OtherPlugin::kIntelGpu:
      return "Intel's GPU plugin";
    case OtherPlugin::kKubeVirt:
      return "KubeVirt's permittedHostDevices";
    case OtherPlugin::kMicroShift:
      return "MicroShift's genericDevicePlugin";
    case OtherPlugin::kMini:
      return "kube-device-plugin-mini";
    case OtherPlugin::kNvidia:
      return "NVIDIA's k8s-device-plugin";
    case OtherPlugin::kRdmaShared:
      return "k8s-rdma-shared-dev-plugin";
    case OtherPlugin::kRocm:
      return "ROCm's k8s-device-plugin";
    case OtherPlugin::kSmarter:
      return "smarter-device-manager";
    case OtherPlugin::kSriov:
      return "sriov-network-device-plugin";
    case OtherPlugin::kVolcano:
      return "Volcano's device plugin";
  }
  return "";
}

}  // namespace plughost
