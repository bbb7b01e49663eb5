#include "convert/running_plugin.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace plughost {
namespace {

struct Sign {
  OtherPlugin plugin;
  std::string_view word;
};

using enum OtherPlugin;

// The end of an image's path: registries and mirrors put more before it.
constexpr auto kImages = std::to_array<Sign>({{kGenericDevicePlugin, "generic-device-plugin"},
                                              {kGpushare, "gpushare-device-plugin"},
                                              {kGpushare, "k8s-gpushare-plugin"},
                                              {kIntelGpu, "intel-gpu-plugin"},
                                              {kMini, "kube-device-plugin-mini"},
                                              {kNvidia, "nvidia/k8s-device-plugin"},
                                              {kRdmaShared, "k8s-rdma-shared-dev-plugin"},
                                              {kRocm, "rocm/k8s-device-plugin"},
                                              {kRocm, "amdgpu-device-plugin"},
                                              {kSmarter, "smarter-device-manager"},
                                              {kSriov, "sriov-network-device-plugin"},
                                              {kVolcano, "volcano-device-plugin"}});

constexpr auto kPrograms = std::to_array<Sign>({{kGenericDevicePlugin, "generic-device-plugin"},
                                                {kGpushare, "gpushare-device-plugin-v2"},
                                                {kIntelGpu, "intel_gpu_device_plugin"},
                                                {kMini, "kube-device-plugin-mini"},
                                                {kNvidia, "nvidia-device-plugin"},
                                                {kRdmaShared, "k8s-rdma-shared-dp"},
                                                {kRocm, "amdgpu-device-plugin"},
                                                {kSmarter, "smarter-device-management"},
                                                {kSriov, "sriovdp"},
                                                {kVolcano, "volcano-device-plugin"}});

constexpr auto kFlags = std::to_array<Sign>({{kGenericDevicePlugin, "device"},
                                             {kGenericDevicePlugin, "domain"},
                                             {kGpushare, "memory-unit"},
                                             {kIntelGpu, "shared-dev-num"},
                                             {kNvidia, "device-id-strategy"},
                                             {kNvidia, "device-list-strategy"},
                                             {kNvidia, "mig-strategy"},
                                             {kNvidia, "pass-device-specs"},
                                             {kRocm, "pulse"},
                                             {kRocm, "resource_naming_strategy"},
                                             {kVolcano, "gpu-strategy"}});

constexpr auto kVariables = std::to_array<Sign>({{kNvidia, "DEVICE_ID_STRATEGY"},
                                                 {kNvidia, "DEVICE_LIST_STRATEGY"},
                                                 {kNvidia, "MIG_STRATEGY"},
                                                 {kNvidia, "PASS_DEVICE_SPECS"},
                                                 {kRocm, "AMD_GPU_DEVICE_COUNT"},
                                                 {kVolcano, "GPU_STRATEGY"}});

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

template <std::size_t n, typename Matches>
std::optional<OtherPlugin> first_of(const std::array<Sign, n>& signs, const Matches& matches) {
  const auto found = std::ranges::find_if(signs, [&](const Sign& sign) { return matches(sign.word); });
  return found == signs.end() ? std::nullopt : std::optional(found->plugin);
}

std::optional<OtherPlugin> plugin_of_image(std::string_view image) {
  const std::string_view path = path_of_image(image);
  return first_of(kImages, [&](std::string_view word) {
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
    const auto is_name = [&](std::string_view sign) { return sign == name; };
    if (const auto plugin = flag ? first_of(kFlags, is_name) : first_of(kPrograms, is_name)) return plugin;
  }
  return first_of(kVariables,
                  [&](std::string_view name) { return line.environment.contains(std::string(name)); });
}

bool runs_without_file(OtherPlugin plugin) {
  return plugin == kGpushare || plugin == kIntelGpu || plugin == kMini || plugin == kNvidia ||
         plugin == kRocm || plugin == kVolcano;
}

}  // namespace plughost
