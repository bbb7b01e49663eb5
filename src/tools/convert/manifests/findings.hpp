#pragma once
// The results of the search: configurations, what starts the plugins, and how these belong together. Internal
// to manifests.

#include <set>
#include <string>
#include <utility>
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

class Findings {
 public:
  // Ignores what is there already: a DaemonSet, its pods and its revisions start one plugin.
  void add(FoundPlugin found);
  void add_object(std::string title) { manifests_.objects.push_back(std::move(title)); }
  void add_advice(const Here& here, std::string advice);
  void add_hint(const Here& here, std::string hint);
  // Records the ConfigMaps of a container that runs an unknown device plugin.
  void add_stranger(const Here& here) { of_strangers_.insert(here.mounted.begin(), here.mounted.end()); }
  // Returns the number of configurations and starters.
  std::size_t size() const { return found_.size(); }
  // Records that `file` has values for `place`.
  void add_values(const std::string& file, const std::string& place);
  void add_doubt(std::string doubt);
  // Records the resources that a container requests, and the default among several configurations of
  // NVIDIA's.
  void add_requests(const Node& node);
  void set_default_choice(std::string choice) { default_choice_ = std::move(choice); }

  // Returns the results, each configuration with its starter.
  Manifests take();

 private:
  void leave_out_those_of_strangers();
  void record_choice(FoundPlugin& configuration) const;
  const FoundPlugin* starter_of(const FoundPlugin& configuration) const;
  // Adds a starter without a configuration, or advice on where that may be.
  void add_starter(const FoundPlugin& starter);

  std::string default_choice_ = "default";  // NVIDIA's choice if none is named
  std::vector<FoundPlugin> found_;
  std::set<std::pair<OtherPlugin, std::string>> contents_;  // of the configurations
  std::set<std::string> of_strangers_;
  Manifests manifests_;
};

// Returns the command that prints ConfigMaps. `from_where` is "-n kube-system ".
std::string kubectl_get(const std::string& from_where, const std::string& names);

}  // namespace plughost
