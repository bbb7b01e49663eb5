#pragma once
// The uses of Helm charts, with their values from other documents, and how charts and operators start
// plugins. Internal to manifests. Functions are thread-safe, Sources is not.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/node_choice.hpp"
#include "tools/convert/peers/peers.hpp"

namespace plughost {

// A chart with the values given to it.
struct UsedChart {
  std::string name;                // "intel-device-plugins-gpu"
  Node values;                     // a map
  std::vector<std::string> files;  // further files of values
  bool unreadable = false;         // some values are a text that is no map, which is reported
};

// The names of charts, by the names of the OCIRepository objects that refer to them.
using ChartRepositories = std::map<std::string, std::string>;

// Returns the chart that a map of Flux, Argo CD, k3s, Kustomize or helmfile refers to; nullopt: none. Errors
// in values that are a text are reported at `place`, for known charts only.
std::optional<UsedChart> used_chart(const Node& map, const std::string& place,
                                    const ChartRepositories& repositories, Diagnostics& diagnostics);

struct ChartPlugin {
  PluginCommand line;                         // with which the chart starts the plugin for these values
  std::vector<std::string> config_maps = {};  // ConfigMaps with the plugin's configuration
  NodeChoice nodes = {};                      // besides those of the values' `nodeSelector` and `affinity`
};

// Returns the plugin that the chart starts for these values, or an operator for an object with this `spec`;
// nullopt if they turn it off.
std::optional<ChartPlugin> started_by(const Chart& chart, const Node& values, const std::string& place,
                                      Diagnostics& diagnostics);

// Adds the variables that the values stand for, unless they are set.
void add_values(const Chart& chart, const Node& values, PluginCommand& line);

// Merges values: maps are merged recursively, and other values of `over` take precedence.
Node merged_values(const Node& under, const Node& over);

// Returns the last part of "oci://ghcr.io/nvidia/k8s/nvidia-device-plugin" or "nvdp/nvidia-device-plugin".
std::string last_part(const std::string& path);

// Returns false for a reference to an object, which has a kind but no content.
bool is_object(const Node& node);
// Returns "ConfigMap kube-system/gdp".
std::string title_of(const Node& object);
// Returns "-n kube-system " for kubectl.
std::string in_namespace(const Node& object);

// A use of a known chart, with all values that can be found.
struct ChartUse {
  UsedChart chart;                  // its `files` are the files that could not be found
  std::vector<const Node*> others;  // other documents that provided values
  bool is_repeated = false;         // an object of the same name in another file says the same, and more
};

class Sources {
 public:
  // `documents` must outlive this object.
  Sources(const std::vector<Node>& documents, Diagnostics& diagnostics);

  // Returns the chart that the map uses; nullptr if the map uses no known chart.
  const ChartUse* use_at(const Node& map) const;
  // Names of charts by those of the OCIRepository objects.
  const ChartRepositories& repositories() const { return repositories_; }
  // Sentences on objects of one name in several files.
  const std::vector<std::string>& doubts() const { return doubts_; }
  bool has_config_map(const std::string& name) const {
    return config_maps_.contains(name) || generated_.contains(name);
  }
  // Returns the ConfigMap that Kustomize generates from the document's file; empty: none.
  std::string generated_of(const Node& root) const;
  bool has_several_files() const { return files_.size() > 1; }
  // Returns true for values that are handled with the use of their chart.
  bool is_values(const Node& node) const { return values_.contains(&node); }

 private:
  void index(const Node& root);
  // `title` is that of the object around the node.
  void find_uses(const Node& node, const std::string& title);
  void add_use(const Node& map, const std::string& title);
  void compare_releases(const std::string& title, const Node& map, ChartUse& use);
  void add_dependencies(const Node& chart_file);
  const Node* file(const std::string& name, const FileName& from) const;
  // Adds the values under `key` of the file or of the generated ConfigMap.
  void add_config_map(const std::string& name, const std::string& key, ChartUse& use);
  void add_values(const Node& values, ChartUse& use);

  Diagnostics& diagnostics_;
  std::map<std::string, const Node*> files_;        // the first document of each file
  std::map<std::string, const Node*> config_maps_;  // objects, by name
  std::map<std::string, const Node*> generated_;    // values, by the name of the ConfigMap
  ChartRepositories repositories_;
  std::map<const Node*, ChartUse> uses_;
  std::map<std::string, const Node*> releases_;  // maps with a use, by object and chart
  std::map<std::string, std::string> patches_;   // files of releases without a chart, by the releases' names
  std::vector<std::string> doubts_;
  std::set<const Node*> values_;
};

}  // namespace plughost
