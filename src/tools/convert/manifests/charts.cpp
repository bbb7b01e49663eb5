#include "tools/convert/manifests/charts.hpp"

#include <algorithm>
#include <utility>

#include "base/document/yaml.hpp"
#include "tools/convert/manifests/running_plugin.hpp"

namespace plughost {
namespace {

using enum OtherPlugin;

constexpr std::string_view kNvidiaChart = "nvidia-device-plugin";
constexpr std::string_view kGpuOperator = "gpu-operator";
constexpr std::string_view kIntelChart = "intel-device-plugins-gpu";
constexpr std::string_view kRocmChart = "amd-gpu";

bool is_true(const Node& map, std::string_view key, bool by_default) {
  const std::string& text = text_at(map, key);
  return text.empty() ? by_default : text == "true";
}

Node empty_map(const Mark& mark) { return {.kind = Node::Kind::kMap, .mark = mark}; }

// Both "oci://ghcr.io/nvidia/k8s/nvidia-device-plugin" and "nvdp/nvidia-device-plugin" name the same chart.
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void add_values(const Node& more, UsedChart& chart) {
  if (more.kind == Node::Kind::kMap) chart.values = merged_values(chart.values, more);
}

void add_text(const Node& text, const std::string& place, UsedChart& chart, Diagnostics& diagnostics) {
  if (text.kind != Node::Kind::kScalar || text.scalar.empty()) return;
  const std::string name = text.mark.file.text() + " (" + place + ')';
  if (const auto root = parse_yaml(text.scalar, name, diagnostics)) add_values(*root, chart);
}

// A dot in a name separates the keys of nested maps.
void add_parameters(const Node& list, UsedChart& chart) {
  for (const Node& each : list.items) {
    std::string name = text_at(each, "name");
    Node value = at(each, "value");
    while (!name.empty()) {
      const std::size_t dot = name.rfind('.');
      Node key = value;
      key.kind = Node::Kind::kScalar;
      key.scalar = name.substr(dot + 1);  // npos + 1 is 0
      Node map = empty_map(value.mark);
      map.members.push_back({std::move(key), std::move(value)});
      value = std::move(map);
      name.resize(dot == std::string::npos ? 0 : dot);
    }
    add_values(value, chart);
  }
}

void add_files(const Node& files, UsedChart& chart) {
  if (!files.scalar.empty()) chart.files.push_back(files.scalar);
  for (const Node& file : files.items) {
    if (!file.scalar.empty()) chart.files.push_back(file.scalar);
    add_values(file, chart);  // helmfile also allows maps in this list
  }
}

std::string chart_name(const Node& map) {
  if (map.find("sourceRef")) return {};  // the inner map of Flux
  const Node& chart = at(map, "chart");
  if (!chart.scalar.empty()) return last_part(chart.scalar);
  if (const std::string& name = text_at(at(chart, "spec"), "chart"); !name.empty()) return last_part(name);
  if (const std::string& name = text_at(chart, "name"); !name.empty()) return name;
  if (const std::string& name = text_at(at(map, "chartRef"), "name"); !name.empty()) return name;
  const bool of_kustomize =
      map.find("valuesInline") || map.find("valuesFile") || (map.find("repo") && map.find("version"));
  return of_kustomize ? text_at(map, "name") : "";
}

PluginCommand intel_command(const Node& spec) {
  static constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"sharedDevNum", "shared-dev-num"},
      {"preferredAllocationPolicy", "allocation-policy"},
      {"allocationPolicy", "allocation-policy"},
      {"enableMonitoring", "enable-monitoring"},
      {"resourceManager", "resource-manager"},
      {"allowIDs", "allow-ids"},
      {"denyIDs", "deny-ids"},
      {"bypathMode", "bypath"}};
  PluginCommand line;
  for (const auto& [key, flag] : kFlags) {
    if (const std::string& value = text_at(spec, key); !value.empty())
      line.words.push_back("--" + std::string(flag) + '=' + value);
  }
  return line;
}

// Adds the ConfigMap of configurations that NVIDIA's chart and operator name.
void mount(const Node& config, ChartPlugin& found) {
  const std::string& name = text_at(config, "name");
  if (name.empty()) return;
  found.config_maps = {name};
  found.line.environment.emplace("CONFIG_FILE", "/config/config.yaml");
}

// Returns the plugin that the GPU operator starts for a ClusterPolicy, or for its chart's values, which have
// the same form.
std::optional<ChartPlugin> of_gpu_operator(const Node& spec, const std::string& place,
                                           Diagnostics& diagnostics) {
  const Node& device_plugin = at(spec, "devicePlugin");
  if (!is_true(device_plugin, "enabled", true)) return std::nullopt;
  ChartPlugin found{.plugin = kNvidia, .line = command_of(device_plugin, place, diagnostics)};
  mount(at(device_plugin, "config"), found);
  const std::string& mig = text_at(at(spec, "mig"), "strategy");
  found.line.environment.emplace("MIG_STRATEGY", mig.empty() ? "single" : mig);
  found.line.environment.emplace("PASS_DEVICE_SPECS", "true");
  if (is_true(at(spec, "driver"), "enabled", true))
    found.line.environment.emplace("NVIDIA_DRIVER_ROOT", "/run/nvidia/driver");
  found.note =
      "The GPU operator's other parts (driver, container toolkit, MIG manager) go on; its device plugin must "
      "not run on these nodes: `devicePlugin.enabled: false`, or the node's label "
      "nvidia.com/gpu.deploy.device-plugin=false";
  return found;
}

std::optional<ChartPlugin> of_amd_operator(const Node& spec) {
  const Node& device_plugin = at(spec, "devicePlugin");
  if (!is_true(device_plugin, "enableDevicePlugin", true)) return std::nullopt;
  ChartPlugin found{.plugin = kRocm, .line = {}};
  for (const auto& [flag, value] : at(device_plugin, "devicePluginArguments").members)
    found.line.words.push_back("--" + flag.scalar + '=' + value.scalar);
  Node pod = empty_map(spec.mark);
  if (const Node* const selector = spec.find("selector")) {
    Node key = *selector;
    key.kind = Node::Kind::kScalar;
    key.scalar = "nodeSelector";
    pod.members.push_back({std::move(key), *selector});
  }
  found.nodes = node_choice(pod);
  return found;
}

}  // namespace

bool is_known_chart(std::string_view name) {
  return name == kNvidiaChart || name == kGpuOperator || name == kIntelChart || name == kRocmChart;
}

std::optional<UsedChart> used_chart(const Node& map, const std::string& place, Diagnostics& diagnostics) {
  UsedChart chart{.name = chart_name(map), .values = empty_map(map.mark), .files = {}};
  if (chart.name.empty()) return std::nullopt;
  Diagnostics nobody_reads;
  Diagnostics& told = is_known_chart(chart.name) ? diagnostics : nobody_reads;
  for (const char* key : {"valuesFile", "additionalValuesFiles", "valueFiles", "valuesFiles"}) {
    add_files(at(map, key), chart);
    add_files(at(at(map, "helm"), key), chart);
    add_files(at(at(at(map, "chart"), "spec"), key), chart);
  }
  for (const Node* const values :
       {&at(map, "values"), &at(map, "valuesContent"), &at(at(map, "helm"), "values")}) {
    if (values->kind == Node::Kind::kSequence) add_files(*values, chart);
    add_text(*values, place, chart, told);
    add_values(*values, chart);
  }
  for (const Node* const values : {&at(at(map, "helm"), "valuesObject"), &at(map, "valuesInline")})
    add_values(*values, chart);
  add_parameters(at(at(map, "helm"), "parameters"), chart);
  add_parameters(at(map, "set"), chart);
  return chart;
}

std::optional<ChartPlugin> plugin_of_chart(std::string_view name, const Node& values,
                                           const std::string& place, Diagnostics& diagnostics) {
  if (name == kNvidiaChart) {
    if (!is_true(at(values, "devicePlugin"), "enabled", true)) return std::nullopt;
    ChartPlugin found{.plugin = kNvidia, .line = command_of(values, place, diagnostics)};
    mount(at(values, "config"), found);
    return found;
  }
  if (name == kGpuOperator) return of_gpu_operator(values, place, diagnostics);
  if (name == kIntelChart) {
    ChartPlugin found{.plugin = kIntelGpu, .line = intel_command(values)};
    if (is_true(values, "enableMonitoring", true) && text_at(values, "enableMonitoring").empty())
      found.line.words.emplace_back("--enable-monitoring=true");
    return found;
  }
  if (name == kRocmChart)
    return ChartPlugin{.plugin = kRocm, .line = command_of(at(values, "dp"), place, diagnostics)};
  return std::nullopt;
}

std::optional<ChartPlugin> plugin_of_object(const Node& object, const std::string& place,
                                            Diagnostics& diagnostics) {
  const std::string& kind = text_at(object, "kind");
  const Node& spec = at(object, "spec");
  if (kind == "GpuDevicePlugin")
    return ChartPlugin{.plugin = kIntelGpu, .line = intel_command(spec), .nodes = node_choice(spec)};
  if (kind == "DeviceConfig" && text_at(object, "apiVersion").starts_with("amd.com/"))
    return of_amd_operator(spec);
  if (kind == "ClusterPolicy" && text_at(object, "apiVersion").starts_with("nvidia.com/"))
    return of_gpu_operator(spec, place, diagnostics);
  return std::nullopt;
}

std::optional<Node> akri_configuration(const Node& values) {
  const Node& udev = at(values, "udev");
  const bool is_new = udev.find("configuration") != nullptr;
  const Node& from = is_new ? at(udev, "configuration") : udev;
  const Node& details = is_new ? at(from, "discoveryDetails") : from;
  if (!is_true(from, "enabled", false) || at(details, "udevRules").kind != Node::Kind::kSequence)
    return std::nullopt;
  const auto scalar = [&](std::string text) {
    return Node{.kind = Node::Kind::kScalar, .mark = from.mark, .scalar = std::move(text)};
  };
  const auto add = [&](Node& map, const char* key, Node value) {
    map.members.push_back({scalar(key), std::move(value)});
  };
  Node rules = empty_map(from.mark);
  for (const char* key : {"udevRules", "groupRecursive", "permissions"}) {
    if (const Node* const value = details.find(key)) add(rules, key, *value);
  }
  Node protocol = empty_map(from.mark);
  add(protocol, "udev", std::move(rules));
  Node spec = empty_map(from.mark);
  add(spec, "protocol", std::move(protocol));
  for (const char* key : {"capacity", "brokerProperties"}) {
    if (const Node* const value = from.find(key)) add(spec, key, *value);
  }
  if (!text_at(at(at(from, "brokerPod"), "image"), "repository").empty())
    add(spec, "brokerSpec", at(from, "brokerPod"));
  Node metadata = empty_map(from.mark);
  const std::string& name = text_at(from, "name");
  add(metadata, "name", scalar(name.empty() ? "akri-udev" : name));
  Node object = empty_map(from.mark);
  add(object, "apiVersion", scalar("akri.sh/v0"));
  add(object, "kind", scalar("Configuration"));
  add(object, "metadata", std::move(metadata));
  add(object, "spec", std::move(spec));
  return object;
}

Node merged_values(const Node& under, const Node& over) {
  if (under.kind != Node::Kind::kMap || over.kind != Node::Kind::kMap) return over;
  Node all = under;
  for (const auto& [key, value] : over.members) {
    const auto same = std::ranges::find_if(all.members, [&, &name = key.scalar](const Node::Member& member) {
      return member.first.scalar == name;
    });
    if (same == all.members.end())
      all.members.push_back({key, value});
    else
      same->second = merged_values(same->second, value);
  }
  return all;
}

}  // namespace plughost
