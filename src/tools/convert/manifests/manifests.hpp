#pragma once
// Configurations of other plugins in the texts in which people keep them: Kubernetes' objects, lists of them
// as kubectl prints them, Helm values. Thread-safe.

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

struct FoundPlugin {
  OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
  std::string place = {};             // "ConfigMap kube-system/gdp, key config.yaml"; empty: the text itself
  std::string file = {};              // that it is in
  std::optional<Node> configuration;  // nullopt: how it is started is all there is
  std::string starter;                // "DaemonSet kube-system/gdp, container main"; empty: not known
  std::string starter_file = {};      // that it is in
  PluginCommand line;                 // of the starter
  // Where a map has several of NVIDIA's, and the node's label chooses: its key, and those of the others.
  std::string choice = {};
  std::vector<std::string> other_choices = {};
  bool is_default = false;  // what a node without the label has
  NodeChoice nodes = {};    // of the starter
};

struct Manifests {
  std::vector<FoundPlugin> plugins;  // in the order of the text
  // Files with values of charts that are known, and where these are used.
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> objects;  // "ConfigMap kube-system/gdp": all that there are
  std::vector<std::string> advice;   // where else a configuration is, with the command that gets it
  std::vector<std::string> hints;    // where there may be one
  std::vector<std::string> doubts;   // what is there and has no effect with theirs, a sentence each
  std::set<std::string> requested;   // resources that pods ask for: "squat.ai/serial"
};

// What is wrong inside of a configuration in a text is reported, with its place.
Manifests find_configurations(const std::vector<Node>& documents, Diagnostics& diagnostics);

}  // namespace plughost
