#include "config/other_plugin.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/text/ascii.hpp"
#include "base/text/words.hpp"

namespace plughost {
namespace {

using enum OtherPlugin;

constexpr Word<OtherPlugin> kNames[] = {{"Akri", kAkri},
                                        {"generic-device-plugin", kGenericDevicePlugin},
                                        {"gpushare-device-plugin", kGpushare},
                                        {"Intel's GPU plugin", kIntelGpu},
                                        {"KubeVirt's permittedHostDevices", kKubeVirt},
                                        {"MicroShift's genericDevicePlugin", kMicroShift},
                                        {"kube-device-plugin-mini", kMini},
                                        {"NVIDIA's k8s-device-plugin", kNvidia},
                                        {"k8s-rdma-shared-dev-plugin", kRdmaShared},
                                        {"ROCm's k8s-device-plugin", kRocm},
                                        {"smarter-device-manager", kSmarter},
                                        {"sriov-network-device-plugin", kSriov},
                                        {"Volcano's device plugin", kVolcano}};

bool has(const Node& root, std::string_view key, Node::Kind kind) {
  const Node* const value = root.find(key);
  return value && value->kind == kind;
}

// Go's libraries ignore the case of keys.
const Node* find_any_case(const Node& root, std::string_view key) {
  const auto found = std::ranges::find_if(root.members, [&](const Node::Member& member) {
    return to_lower(member.first.scalar) == to_lower(key);
  });
  return found == root.members.end() ? nullptr : &found->second;
}

bool has_any_of(const Node& root, std::string_view map, std::initializer_list<std::string_view> keys) {
  const Node* const found = find_any_case(root, map);
  return found && std::ranges::any_of(keys, [&](std::string_view key) { return find_any_case(*found, key); });
}

// Other programs have a list `devices` as well: without a domain, an item must look like a device of the
// plugin.
bool may_be_devices(const Node& list, bool has_domain) {
  if (has_domain && list.items.empty()) return true;
  return std::ranges::any_of(list.items, [&](const Node& item) {
    return find_any_case(item, "groups") || find_any_case(item, "paths") ||
           (has_domain && item.kind != Node::Kind::kMap);
  });
}

bool is_generic(const Node& root) {
  for (const std::string_view ours : {"resources", "kubelet", "log", "include"}) {
    if (root.find(ours)) return false;
  }
  for (const std::string_view theirs : {"devices", "device"}) {
    const Node* const value = find_any_case(root, theirs);
    if (value && value->kind == Node::Kind::kSequence &&
        may_be_devices(*value, find_any_case(root, "domain")))
      return true;
  }
  return false;
}

// `version` may be missing. Helm charts have a version and resources as well.
bool is_nvidia(const Node& root) {
  const Node* const version = find_any_case(root, "version");
  const bool versioned = version && version->scalar == "v1";
  return has_any_of(root, "sharing", {"timeSlicing", "mps"}) ||
         has_any_of(root, "flags",
                    {"migStrategy", "plugin", "failOnInitError", "nvidiaDriverRoot", "gdsEnabled",
                     "mofedEnabled", "gfd", "imexRequired"}) ||
         has_any_of(root, "resources", {"gpus", "mig", "migs"}) ||
         (versioned &&
          (find_any_case(root, "flags") || find_any_case(root, "sharing") || root.members.size() == 1));
}

bool is_volcano(const Node& root) { return has_any_of(root, "flags", {"GPUStrategy", "GPUMemoryFactor"}); }

bool is_object(const Node& root, std::string_view group, std::string_view kind) {
  return or_nothing(root.find("apiVersion")).scalar.starts_with(group) &&
         or_nothing(root.find("kind")).scalar == kind;
}

bool has_devicematch(const Node& item) { return item.find("devicematch") != nullptr; }

}  // namespace

std::optional<OtherPlugin> other_plugin(const Node& root) {
  if (root.kind == Node::Kind::kSequence)
    return std::ranges::any_of(root.items, has_devicematch) ? std::optional(kSmarter) : std::nullopt;
  if (has(root, "configList", Node::Kind::kSequence)) return kRdmaShared;
  if (has(root, "resourceList", Node::Kind::kSequence)) return kSriov;
  if (has(root, "genericDevicePlugin", Node::Kind::kMap)) return kMicroShift;
  if (has(root, "permittedHostDevices", Node::Kind::kMap)) return kKubeVirt;
  if (is_object(root, "akri.sh/", "Configuration")) return kAkri;
  // The SR-IOV network operator creates the plugin's list from this object.
  if (is_object(root, "sriovnetwork.openshift.io/", "SriovNetworkNodePolicy")) return kSriov;
  if (is_volcano(root)) return kVolcano;
  if (is_nvidia(root)) return kNvidia;
  if (is_generic(root)) return kGenericDevicePlugin;
  return std::nullopt;
}

std::string_view name_of(OtherPlugin plugin) { return word_of(kNames, plugin); }

std::optional<OtherPlugin> plugin_named(std::string_view name) { return value_of(kNames, name); }

}  // namespace plughost
