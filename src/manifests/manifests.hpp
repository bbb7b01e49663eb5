#pragma once
// Configurations of other plugins in the texts in which people keep them: Kubernetes' objects, lists of them
// as kubectl prints them, Helm values. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "config/other_plugin.hpp"
#include "document/diagnostics.hpp"
#include "document/node.hpp"
#include "manifests/arguments.hpp"

namespace plughost {

struct FoundPlugin {
  OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
  std::string place;                  // "ConfigMap kube-system/gdp, key config.yaml"; empty: the text itself
  std::optional<Node> configuration;  // nullopt: how it is started is all there is
  std::string starter;                // "DaemonSet kube-system/gdp, container main"; empty: not known
  PluginCommand line;                 // of the starter
  // Where a map has several of NVIDIA's, and the node's label chooses: its key, and those of the others.
  std::string choice = {};
  std::vector<std::string> other_choices = {};
  bool is_default = false;  // what a node without the label has
};

struct Manifests {
  std::vector<FoundPlugin> plugins;  // in the order of the text
  std::vector<std::string> objects;  // "ConfigMap kube-system/gdp": all that there are
  std::vector<std::string> advice;   // where else a configuration is, with the command that gets it
};

// What is wrong inside of a configuration in a text is reported, with its place.
Manifests look_through(const std::vector<Node>& documents, Diagnostics& diagnostics);

}  // namespace plughost
