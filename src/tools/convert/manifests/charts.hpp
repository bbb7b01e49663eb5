#pragma once
// Helm charts and operators of other plugins, known by their names. Thread-safe.

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

// A chart, and what somebody gives to it.
struct UsedChart {
  std::string name;                // "intel-device-plugins-gpu"
  Node values;                     // a map
  std::vector<std::string> files;  // that have values, too
};

// The chart that a map is about, as Flux, Argo CD, k3s, Kustomize and helmfile say it; nullopt: about none.
// place: of the map, for what is wrong in values that are a text; of a chart that is not known nothing is
// reported.
std::optional<UsedChart> used_chart(const Node& map, const std::string& place, Diagnostics& diagnostics);

struct ChartPlugin {
  OtherPlugin plugin = OtherPlugin::kNvidia;
  PluginCommand line;                         // as the chart starts it with these values
  std::vector<std::string> config_maps = {};  // that its configuration is in
  NodeChoice nodes = {};                      // where an operator's object has it run
  std::string note = {};                      // what else the chart does
};

// The plugin that a chart starts without a configuration file, or with what is in its values; nullopt: it is
// not known, or the values turn it off.
std::optional<ChartPlugin> plugin_of_chart(std::string_view name, const Node& values,
                                           const std::string& place, Diagnostics& diagnostics);

bool is_known_chart(std::string_view name);

// What an operator makes of its object (GpuDevicePlugin, ClusterPolicy, DeviceConfig).
std::optional<ChartPlugin> plugin_of_object(const Node& object, const std::string& place,
                                            Diagnostics& diagnostics);

// The object that Akri's chart makes of its values, of udev's configuration; nullopt: it is not on.
std::optional<Node> akri_configuration(const Node& values);

// Values over others: maps are merged, and what else is in both is that of over.
Node merged_values(const Node& under, const Node& over);

}  // namespace plughost
