#include "tools/convert/manifests/running_plugin.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace plughost {
namespace {

using enum OtherPlugin;
using SignWords = std::array<std::string_view, 4>;  // unused elements are empty

struct Signs {
  OtherPlugin plugin;
  // Words in the names of renamed images; a flag then identifies the plugin.
  SignWords makers;
  SignWords images;  // end of an image's path, after registries and mirrors
  SignWords programs;
  SignWords flags;
  SignWords variables;
};

constexpr Signs kSigns[] = {
    {kGenericDevicePlugin,
     {"generic"},
     {"generic-device-plugin"},
     {"generic-device-plugin"},
     {"device", "domain"},
     {}},
    {kGpushare,
     {"gpushare", "aliyun"},
     {"gpushare-device-plugin", "k8s-gpushare-plugin"},
     {"gpushare-device-plugin-v2"},
     {"memory-unit"},
     {}},
    {kIntelGpu, {"intel"}, {"intel-gpu-plugin"}, {"intel_gpu_device_plugin"}, {"shared-dev-num"}, {}},
    {kMini, {"mini"}, {"kube-device-plugin-mini"}, {"kube-device-plugin-mini"}, {}, {}},
    {kNvidia,
     {"nvidia"},
     {"nvidia/k8s-device-plugin"},
     {"nvidia-device-plugin"},
     {"device-id-strategy", "device-list-strategy", "mig-strategy", "pass-device-specs"},
     {"DEVICE_ID_STRATEGY", "DEVICE_LIST_STRATEGY", "MIG_STRATEGY", "PASS_DEVICE_SPECS"}},
    {kRdmaShared, {"rdma"}, {"k8s-rdma-shared-dev-plugin"}, {"k8s-rdma-shared-dp"}, {}, {}},
    {kRocm,
     {"rocm", "amd", "amdgpu"},
     {"rocm/k8s-device-plugin", "amdgpu-device-plugin"},
     {"amdgpu-device-plugin"},
     {"pulse", "resource_naming_strategy"},
     {"AMD_GPU_DEVICE_COUNT"}},
    {kSmarter, {"smarter"}, {"smarter-device-manager"}, {"smarter-device-management"}, {}, {}},
    {kSriov, {"sriov"}, {"sriov-network-device-plugin"}, {"sriovdp"}, {}, {}},
    {kVolcano,
     {"volcano"},
     {"volcano-device-plugin"},
     {"volcano-device-plugin"},
     {"gpu-strategy"},
     {"GPU_STRATEGY"}},
};

// Plugins without a converter that began as copies of plugins with a converter.
struct Stranger {
  std::string_view name;
  SignWords images;
  SignWords flags;
};

constexpr Stranger kStrangers[] = {
    {"Volcano's vGPU device plugin", {"volcano-vgpu-device-plugin"}, {}},
    {"HAMi's device plugin", {"projecthami/hami", "hami", "k8s-vdevice"}, {}},
    {"HAMi's or Volcano's vGPU device plugin",
     {},
     {"device-split-count", "device-memory-scaling", "device-cores-scaling", "disable-core-limit"}},
};

// Returns the path in "registry.example/squat/generic-device-plugin:latest@sha256:…".
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

template <typename Row, std::size_t kCount, typename Matches>
const Row* first_of(const Row (&rows)[kCount], SignWords Row::*words, const Matches& matches) {
  const auto is_it = [&](std::string_view word) { return !word.empty() && matches(word); };
  const Row* const found =
      std::ranges::find_if(rows, [&](const Row& row) { return std::ranges::any_of(row.*words, is_it); });
  return found == std::end(rows) ? nullptr : found;
}

// Matches a word at the end of the image's path, whatever registry and mirror precede the word.
auto of_image(std::string_view path) {
  return [path](std::string_view word) {
    if (!path.ends_with(word)) return false;
    const std::string_view before = path.substr(0, path.size() - word.size());
    return before.empty() || before.ends_with('/') || before.ends_with('-');
  };
}

const Signs* plugin_of_image(std::string_view image) {
  return first_of(kSigns, &Signs::images, of_image(path_of_image(image)));
}

const Stranger* stranger_of(const PluginCommand& line) {
  if (!line.image.empty()) {
    const std::string_view path = path_of_image(line.image);
    if (const Stranger* const found = first_of(kStrangers, &Stranger::images, of_image(path))) return found;
  }
  for (const std::string& word : line.words) {
    const std::string_view flag = flag_of(word);
    const auto is_it = [flag](std::string_view sign) { return sign == flag; };
    if (const Stranger* const found = first_of(kStrangers, &Stranger::flags, is_it)) return found;
  }
  return nullptr;
}

// Returns true for the name of a different plugin: "volcano-vgpu-device-plugin", not "k8s-device-plugin".
bool is_another(std::string_view image, const Signs& signs) {
  static constexpr auto kOfAll = std::to_array<std::string_view>(
      {"k8s", "kube", "kubernetes", "device", "plugin", "gpu", "deviceplugin"});
  std::string_view name = base_name(path_of_image(image));
  if (name.find("plugin") == std::string_view::npos) return false;
  bool another = false;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find_first_of("-_."));
    name.remove_prefix(std::min(word.size() + 1, name.size()));
    if (std::ranges::find(signs.makers, word) != std::end(signs.makers)) return false;
    another = another || std::ranges::find(kOfAll, word) == kOfAll.end();
  }
  return another;
}

// Returns true if the container runs a different program of the plugin's image, such as a labeller.
bool runs_another_program(const PluginCommand& line) {
  if (line.image.find(":labeller") != std::string::npos) return true;
  if (line.words.empty() || line.words.front().starts_with('-')) return false;
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"config-manager", "gpu-feature-discovery", "mps-control-daemon", "k8s-node-labeller"});
  return std::ranges::find(kOthers, base_name(line.words.front())) != kOthers.end();
}

// Returns true for flags of many programs; only the container's image can identify such programs.
bool is_common(std::string_view flag) { return flag == "device" || flag == "domain" || flag == "pulse"; }

bool has_groups(const PluginCommand& line) {
  return std::ranges::any_of(
      line.words, [](const std::string& word) { return word.find("groups") != std::string::npos; });
}

std::string image_of(const Node& container) {
  const Node& image = or_nothing(container.find("image"));
  if (image.kind != Node::Kind::kMap) return image.scalar;
  const std::string& registry = text_at(image, "registry");
  const std::string& tag = text_at(image, "tag");
  return (registry.empty() ? "" : registry + '/') + text_at(image, "repository") +
         (tag.empty() ? "" : ':' + tag);
}

// Reads a list of {name, value}, or a map as in Helm charts.
std::map<std::string, std::string> environment_of(const Node& container) {
  std::map<std::string, std::string> all;
  const Node& env = or_nothing(container.find("env"));
  for (const Node& item : env.items) {
    if (const std::string name = text_at(item, "name"); !name.empty()) all[name] = text_at(item, "value");
  }
  for (const auto& [key, value] : env.members)
    all[key.scalar] = value.kind == Node::Kind::kMap ? text_at(value, "value") : value.scalar;
  return all;
}

// Expands $(NAME) as the kubelet does.
std::string expanded(std::string_view word, const std::map<std::string, std::string>& environment) {
  std::string all;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = word.substr(at).starts_with("$(") ? word.find(')', at) : std::string_view::npos;
    const auto found = end == std::string_view::npos
                           ? environment.end()
                           : environment.find(std::string(word.substr(at + 2, end - at - 2)));
    if (found == environment.end()) {
      all += word[at++];
    } else {
      all += found->second;
      at = end + 1;
    }
  }
  return all;
}

bool is_shell(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  return program == "sh" || program == "bash" || program == "ash" || program == "dash";
}

// Variables that NVIDIA's chart sets, by the names of its values.
constexpr auto kNvidiaValues = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"compatWithCPUManager", "PASS_DEVICE_SPECS"},
    {"deviceDiscoveryStrategy", "DEVICE_DISCOVERY_STRATEGY"},
    {"deviceIDStrategy", "DEVICE_ID_STRATEGY"},
    {"deviceListStrategy", "DEVICE_LIST_STRATEGY"},
    {"failOnInitError", "FAIL_ON_INIT_ERROR"},
    {"gdrcopyEnabled", "GDRCOPY_ENABLED"},
    {"gdsEnabled", "GDS_ENABLED"},
    {"migStrategy", "MIG_STRATEGY"},
    {"mofedEnabled", "MOFED_ENABLED"},
    {"nvidiaDriverRoot", "NVIDIA_DRIVER_ROOT"},
});

}  // namespace

std::optional<OtherPlugin> running_plugin(const PluginCommand& line) {
  if (stranger_of(line)) return std::nullopt;
  if (const Signs* const signs = plugin_of_image(line.image))
    return runs_another_program(line) ? std::nullopt : std::optional(signs->plugin);
  const auto found = [&line](const Signs* signs) {
    return signs && !is_another(line.image, *signs) ? std::optional(signs->plugin) : std::nullopt;
  };
  for (const std::string& word : line.words) {
    const bool flag = word.starts_with('-');
    const std::string_view name = flag ? flag_of(word) : base_name(word);
    if (flag && !line.image.empty() && is_common(name) && !has_groups(line)) continue;
    const auto plugin = found(first_of(kSigns, flag ? &Signs::flags : &Signs::programs,
                                       [&](std::string_view sign) { return sign == name; }));
    if (plugin) return plugin;
  }
  return found(first_of(kSigns, &Signs::variables,
                        [&](std::string_view name) { return line.environment.contains(std::string(name)); }));
}

std::string unknown_plugin(const PluginCommand& line) {
  const std::string image(path_of_image(line.image));
  if (const Stranger* const stranger = stranger_of(line))
    return std::string(stranger->name) + (image.empty() ? "" : " (" + image + ')');
  const std::string_view name = base_name(image);
  const bool is_plugin = name.find("device-plugin") != std::string_view::npos && !plugin_of_image(line.image);
  return is_plugin && !running_plugin(line) ? "the image " + image : "";
}

bool runs_without_file(OtherPlugin plugin) {
  return plugin == kGpushare || plugin == kIntelGpu || plugin == kMini || plugin == kNvidia ||
         plugin == kRocm || plugin == kVolcano;
}

PluginCommand command_of(const Node& container, const std::string& place, Diagnostics& diagnostics) {
  PluginCommand line{.image = image_of(container), .environment = environment_of(container)};
  for (const char* key : {"command", "args"}) {
    const Node& words = or_nothing(container.find(key));
    if (words.kind == Node::Kind::kScalar) line.words.push_back(words.scalar);
    for (const Node& word : words.items) line.words.push_back(expanded(word.scalar, line.environment));
  }
  if (line.words.size() > 2 && is_shell(line.words[0]) && line.words[1].ends_with('c'))
    line.words = words_of(line.words[2], place, diagnostics);
  for (const auto& [key, variable] : kNvidiaValues) {
    const Node& value = or_nothing(container.find(key));
    if (value.kind == Node::Kind::kScalar) line.environment.emplace(variable, value.scalar);
  }
  return line;
}

}  // namespace plughost
