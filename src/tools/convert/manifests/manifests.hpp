#pragma once
// Finds configurations of other plugins in Kubernetes objects, in lists of them as kubectl prints them, and
// in Helm values. Thread-safe.

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "config/other_plugin.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/node_choice.hpp"

namespace plughost {

// A configuration, or what starts a plugin: a container, a chart or an operator's object.
struct FoundPlugin {
  OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
  std::string place = {};  // "ConfigMap kube-system/gdp, key config.yaml"; empty: the file itself
  std::string title = {};  // of the object: "ConfigMap kube-system/gdp"
  std::string file = {};   // the file of the configuration
  std::optional<Node> configuration = {};  // nullopt: only the command line is known
  std::string starter = {};                // "DaemonSet kube-system/gdp, container main"; empty: unknown
  std::string starter_file = {};           // the file of the starter
  PluginCommand line = {};                 // the starter's command line
  std::vector<std::string> config_maps =
      {};                       // the ConfigMap of the configuration; those that the starter's pod mounts
  std::string from_where = {};  // "-n kube-system " for kubectl
  NodeChoice nodes = {};        // nodes on which the starter runs
  // The configuration's key in a map of configurations, and the map: "ConfigMap a/b".
  std::string key = {};
  std::string map = {};
  // If the node's label chooses among several configurations of NVIDIA's plugin in a map: the other keys.
  std::vector<std::string> other_choices = {};
  bool is_default = false;  // the choice for a node without the label
};

struct Hint {
  std::string file;
  std::string text;
  bool operator==(const Hint&) const = default;
};

struct Manifests {
  std::vector<FoundPlugin> plugins;  // in the order of the text
  // Files with values of known charts, and where each is used.
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> objects;  // all objects: "ConfigMap kube-system/gdp"
  std::vector<Hint> advice;          // where another configuration is, with the command that prints it
  std::vector<Hint> hints;           // where another configuration may be
  std::vector<std::string> doubts;   // settings without effect in the other plugin, a sentence each
  std::set<std::string> requested;   // resources that pods request: "squat.ai/serial"
};

// Reports errors of single configurations, with their positions.
Manifests find_configurations(const std::vector<Node>& documents, Diagnostics& diagnostics);

}  // namespace plughost
