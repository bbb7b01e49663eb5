#include "convert/running_plugin.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace plughost {
namespace {

using enum OtherPlugin;
using SignWords = std::array<std::string_view, 4>;  // empty ones at the end

struct Signs {
  OtherPlugin plugin;
  SignWords images;  // the end of an image's path: registries and mirrors put more before it
  SignWords programs;
  SignWords flags;
  SignWords variables;
};

constexpr Signs kSigns[] = {
    {kGenericDevicePlugin, {"generic-device-plugin"}, {"generic-device-plugin"}, {"device", "domain"}, {}},
    {kGpushare,
     {"gpushare-device-plugin", "k8s-gpushare-plugin"},
     {"gpushare-device-plugin-v2"},
     {"memory-unit"},
     {}},
    {kIntelGpu, {"intel-gpu-plugin"}, {"intel_gpu_device_plugin"}, {"shared-dev-num"}, {}},
    {kMini, {"kube-device-plugin-mini"}, {"kube-device-plugin-mini"}, {}, {}},
    {kNvidia,
     {"nvidia/k8s-device-plugin"},
     {"nvidia-device-plugin"},
     {"device-id-strategy", "device-list-strategy", "mig-strategy", "pass-device-specs"},
     {"DEVICE_ID_STRATEGY", "DEVICE_LIST_STRATEGY", "MIG_STRATEGY", "PASS_DEVICE_SPECS"}},
    {kRdmaShared, {"k8s-rdma-shared-dev-plugin"}, {"k8s-rdma-shared-dp"}, {}, {}},
    {kRocm,
     {"rocm/k8s-device-plugin", "amdgpu-device-plugin"},
     {"amdgpu-device-plugin"},
     {"pulse", "resource_naming_strategy"},
     {"AMD_GPU_DEVICE_COUNT"}},
    {kSmarter, {"smarter-device-manager"}, {"smarter-device-management"}, {}, {}},
    {kSriov, {"sriov-network-device-plugin"}, {"sriovdp"}, {}, {}},
    {kVolcano, {"volcano-device-plugin"}, {"volcano-device-plugin"}, {"gpu-strategy"}, {"GPU_STRATEGY"}},
};

// "registry.example/squat/generic-device-plugin:latest@sha256:…" without what follows its path.
std::string_view path_of_image(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.rfind(':');
  const bool is_tag = colon != std::string_view::npos && image.find('/', colon) == std::string_view::npos;
  return is_tag ? image.substr(0, colon) : image;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string_view flag_of(std::string_view word) {
  const std::size_t dashes = word.find_first_not_of('-');
  if (dashes == 0 || dashes == std::string_view::npos) return {};
  word.remove_prefix(dashes);
  return word.substr(0, word.find('='));
}

template <typename Matches>
std::optional<OtherPlugin> first_of(SignWords Signs::*words, const Matches& matches) {
  const auto is_it = [&](std::string_view word) { return !word.empty() && matches(word); };
  const auto* const found = std::ranges::find_if(
      kSigns, [&](const Signs& signs) { return std::ranges::any_of(signs.*words, is_it); });
  return found == std::end(kSigns) ? std::nullopt : std::optional(found->plugin);
}

std::optional<OtherPlugin> plugin_of_image(std::string_view image) {
  const std::string_view path = path_of_image(image);
  return first_of(&Signs::images, [&](std::string_view word) {
    if (!path.ends_with(word)) return false;
    const std::string_view before = path.substr(0, path.size() - word.size());
    return before.empty() || before.ends_with('/') || before.ends_with('-');
  });
}

// Images of plugins have programs that prepare, label and measure, too.
bool runs_another_program(const PluginCommand& line) {
  if (line.image.find(":labeller") != std::string::npos) return true;
  if (line.words.empty() || line.words.front().starts_with('-')) return false;
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"config-manager", "gpu-feature-discovery", "mps-control-daemon", "k8s-node-labeller"});
  return std::ranges::find(kOthers, base_name(line.words.front())) != kOthers.end();
}

// Flags that other programs have, too: a container's image would say what it is.
bool is_common(std::string_view flag) { return flag == "device" || flag == "domain" || flag == "pulse"; }

bool has_groups(const PluginCommand& line) {
  return std::ranges::any_of(
      line.words, [](const std::string& word) { return word.find("groups") != std::string::npos; });
}

}  // namespace

std::optional<OtherPlugin> running_plugin(const PluginCommand& line) {
  if (const auto plugin = plugin_of_image(line.image))
    return runs_another_program(line) ? std::nullopt : plugin;
  for (const std::string& word : line.words) {
    const bool flag = word.starts_with('-');
    const std::string_view name = flag ? flag_of(word) : base_name(word);
    if (flag && !line.image.empty() && is_common(name) && !has_groups(line)) continue;
    const auto plugin = first_of(flag ? &Signs::flags : &Signs::programs,
                                 [&](std::string_view sign) { return sign == name; });
    if (plugin) return plugin;
  }
  return first_of(&Signs::variables,
                  [&](std::string_view name) { return line.environment.contains(std::string(name)); });
}

bool runs_without_file(OtherPlugin plugin) {
  return plugin == kGpushare || plugin == kIntelGpu || plugin == kMini || plugin == kNvidia ||
         plugin == kRocm || plugin == kVolcano;
}

}  // namespace plughost
