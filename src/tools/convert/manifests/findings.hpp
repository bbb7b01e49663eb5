#pragma once
// The search results: configurations, starters (see Starter), and their relations. Internal to manifests.

#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/manifests/manifests.hpp"
#include "tools/convert/manifests/node_choice.hpp"

namespace plughost {

// The current position of the search in the manifests.
struct Here {
  std::string file = {};
  std::string title = {};                 // title of the object; empty: none
  std::string keys = {};                  // "spec.values"
  std::string config_map = {};            // name of the enclosing ConfigMap
  std::string key = {};                   // the last of `keys`
  std::string map = {};                   // the map that has `key`
  std::string from_where = {};            // "-n kube-system " for kubectl
  std::vector<std::string> mounted = {};  // names of the ConfigMaps that this pod mounts
  NodeChoice nodes = {};                  // where the pod runs
  unsigned texts = 0;                     // depth of YAML texts inside of YAML texts
  std::string chart = {};                 // the known chart to which these values belong; empty: none

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

// Adds to `here` the mounts and nodes of a pod, or of values with a pod's map under one of two keys.
void add_pod(const Node& node, Here& here);

// A container, a chart or an operator's object that starts a plugin.
struct Starter {
  OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
  std::string place;
  std::string file = {};
  PluginCommand line = {};
  std::vector<std::string> config_maps = {};  // mounted by its pod
  std::string from_where = {};                // "-n kube-system " for kubectl
  NodeChoice nodes = {};
  bool used = false;
};

// A configuration with its ConfigMap.
struct FoundConfiguration {
  FoundPlugin found;
  std::string config_map = {};
  // Position in a map of configurations: the key and the map.
  std::string key = {};
  std::string map = {};
};

class Findings {
 public:
  // Ignores a starter that equals an earlier one: a DaemonSet, its pods and its revisions start one plugin.
  void add(Starter starter);
  void add(FoundConfiguration configuration);
  void add_object(std::string title) { manifests_.objects.push_back(std::move(title)); }
  void add_advice(std::string advice);
  void add_hint(std::string hint);
  // Records that `file` has values for `place`.
  void add_values(const std::string& file, const std::string& place);
  void add_doubt(std::string doubt);
  void add_request(const std::string& resource) { manifests_.requested.insert(resource); }
  void set_default_choice(std::string choice) { default_choice_ = std::move(choice); }

  // Returns the results, each configuration with its starter.
  Manifests take(Diagnostics& diagnostics);

 private:
  void record_choice(FoundConfiguration& configuration) const;
  Starter* starter_of(const FoundConfiguration& configuration);
  NodeChoice nodes_of_all_like(const Starter& one);

  std::string default_choice_ = "default";  // NVIDIA's choice if none is named
  std::vector<FoundConfiguration> configurations_;
  std::vector<Starter> starters_;
  Manifests manifests_;
};

// Returns the command that prints ConfigMaps. `from_where` is "-n kube-system ".
std::string kubectl_get(const std::string& from_where, const std::string& names);

}  // namespace plughost
