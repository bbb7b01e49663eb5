#pragma once
// Documents that name each other: a chart's values in another file or in a ConfigMap. Not thread-safe.
// Internal to manifests.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/manifests/charts.hpp"

namespace plughost {

// A place where a known chart is used, with all values that can be found.
struct ChartUse {
  UsedChart chart;                  // its files: those that could not be found
  std::vector<const Node*> others;  // documents that the values are from, too
};

class Sources {
 public:
  // documents outlive it.
  Sources(const std::vector<Node>& documents, Diagnostics& diagnostics);

  // What the map says of a known chart; nullptr: nothing.
  const ChartUse* use_at(const Node& map) const;
  bool has_config_map(const std::string& name) const {
    return config_maps_.contains(name) || generated_.contains(name);
  }
  // The name of the ConfigMap that Kustomize makes of the document's file; empty: none.
  std::string generated_of(const Node& root) const;
  // Is the node looked at where its chart is used?
  bool is_values(const Node& node) const { return values_.contains(&node); }

 private:
  void index(const Node& root);
  void find_uses(const Node& node);
  void add_use(const Node& map);
  void add_dependencies(const Node& chart_file);
  const Node* file(const std::string& name, const FileName& from) const;
  // The values below key in the file or in the ConfigMap that the generator of Kustomize makes of it.
  void add_config_map(const std::string& name, const std::string& key, ChartUse& use);
  void add_values(const Node& values, ChartUse& use);

  Diagnostics& diagnostics_;
  std::map<std::string, const Node*> files_;        // the first document of each
  std::map<std::string, const Node*> config_maps_;  // objects, by name
  std::map<std::string, const Node*> generated_;    // values, by the name of the ConfigMap
  std::map<const Node*, ChartUse> uses_;
  std::set<const Node*> values_;
};

}  // namespace plughost
