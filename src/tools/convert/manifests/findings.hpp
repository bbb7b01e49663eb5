#pragma once
// What was found of other plugins: configurations, what starts a plugin, and which starts which. Internal to
// manifests.

#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/manifests/manifests.hpp"
#include "tools/convert/manifests/node_choice.hpp"

namespace plughost {

// The place in the manifests that the search has come to.
struct Here {
  std::string file = {};
  std::string title = {};                 // of the object; empty: in none
  std::string keys = {};                  // "spec.values"
  std::string config_map = {};            // the name of the one that this is in
  std::string key = {};                   // the last of keys
  std::string map = {};                   // and what it is a key of
  std::string from_where = {};            // "-n kube-system " for kubectl
  std::vector<std::string> mounted = {};  // names of the ConfigMaps that this pod mounts
  NodeChoice nodes = {};                  // where it runs
  unsigned texts = 0;                     // that this is inside of
  std::string chart = {};                 // a chart that is known, and that these are values of

  std::string place() const {
    if (title.empty() || keys.empty()) return title + keys;
    return title + ", " + keys;
  }
  Here below(const std::string& member) const {
    Here inner = *this;
    inner.map = place();
    inner.keys += (keys.empty() ? "" : ".") + member;
    inner.key = member;
    return inner;
  }
};

// What a pod mounts, and where it runs: of a pod's map, or of values that have a pod's below one of two keys.
void add_pod(const Node& node, Here& here);

// What runs a plugin: a container, a chart, an operator's object.
struct Starter {
  OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
  std::string place;
  std::string file = {};
  PluginCommand line = {};
  std::vector<std::string> config_maps = {};  // that its pod mounts
  std::string from_where = {};                // "-n kube-system " for kubectl
  NodeChoice nodes = {};
  bool used = false;
};

// A configuration, and the ConfigMap that it is from.
struct FoundConfiguration {
  FoundPlugin found;
  std::string config_map = {};
  // Of a map of configurations: which of its keys, and which map.
  std::string key = {};
  std::string map = {};
};

class Findings {
 public:
  // What is there already is left out: a DaemonSet, its pods and its revisions start the same.
  void add(Starter starter);
  void add(FoundConfiguration configuration);
  void add_object(std::string title) { manifests_.objects.push_back(std::move(title)); }
  void add_advice(std::string advice);
  void add_hint(std::string hint);
  // A file with values of what is at place.
  void add_values(const std::string& file, const std::string& place);
  void add_doubt(std::string doubt);
  void add_request(const std::string& resource) { manifests_.requested.insert(resource); }
  void set_default_choice(std::string choice) { default_choice_ = std::move(choice); }

  // All of it, each configuration with its starter.
  Manifests take(Diagnostics& diagnostics);

 private:
  void record_choice(FoundConfiguration& configuration) const;
  Starter* starter_of(const FoundConfiguration& configuration);
  NodeChoice nodes_of_all_like(const Starter& one);

  std::string default_choice_ = "default";  // as NVIDIA's takes it where nobody names one
  std::vector<FoundConfiguration> configurations_;
  std::vector<Starter> starters_;
  Manifests manifests_;
};

// How to get what is in ConfigMaps. from_where: "-n kube-system ".
std::string kubectl_get(const std::string& from_where, const std::string& names);

}  // namespace plughost
