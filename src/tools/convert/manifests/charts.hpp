#pragma once
// Recognizes Helm charts and operators of other plugins by their names. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "config/other_plugin.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/node_choice.hpp"

namespace plughost {

// A chart with the values given to it.
struct UsedChart {
  std::string name;                // "intel-device-plugins-gpu"
  Node values;                     // a map
  std::vector<std::string> files;  // further files of values
};

// Returns the chart that a map of Flux, Argo CD, k3s, Kustomize or helmfile refers to; nullopt: none. Errors
// in values that are a text are reported at `place`, for known charts only.
std::optional<UsedChart> used_chart(const Node& map, const std::string& place, Diagnostics& diagnostics);

struct ChartPlugin {
  OtherPlugin plugin = OtherPlugin::kNvidia;
  PluginCommand line;                         // with which the chart starts the plugin for these values
  std::vector<std::string> config_maps = {};  // ConfigMaps with the plugin's configuration
  NodeChoice nodes = {};                      // nodes on which an operator's object runs the plugin
  std::string note = {};                      // further effects of the chart
};

// Returns the plugin that a chart starts without a configuration file, or with a configuration in its values;
// nullopt if the chart is unknown, or turned off by the values.
std::optional<ChartPlugin> plugin_of_chart(std::string_view name, const Node& values,
                                           const std::string& place, Diagnostics& diagnostics);

bool is_known_chart(std::string_view name);

// Returns the plugin that an operator starts for its object (GpuDevicePlugin, ClusterPolicy, DeviceConfig).
std::optional<ChartPlugin> plugin_of_object(const Node& object, const std::string& place,
                                            Diagnostics& diagnostics);

// Returns the object that Akri's chart creates for its udev values; nullopt if udev is disabled.
std::optional<Node> akri_configuration(const Node& values);

// Merges values: maps are merged recursively, and other values of `over` take precedence.
Node merged_values(const Node& under, const Node& over);

}  // namespace plughost
