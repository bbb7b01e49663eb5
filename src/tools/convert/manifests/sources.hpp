#pragma once
// Resolves references between documents: a chart's values in another file or in a ConfigMap. Not thread-safe.
// Internal to manifests.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/manifests/charts.hpp"

namespace plughost {

// A use of a known chart, with all values that can be found.
struct ChartUse {
  UsedChart chart;                  // its `files` are the files that could not be found
  std::vector<const Node*> others;  // other documents that provided values
};

class Sources {
 public:
  // `documents` must outlive this object.
  Sources(const std::vector<Node>& documents, Diagnostics& diagnostics);

  // Returns the chart that the map uses; nullptr if the map uses no known chart.
  const ChartUse* use_at(const Node& map) const;
  bool has_config_map(const std::string& name) const {
    return config_maps_.contains(name) || generated_.contains(name);
  }
  // Returns the ConfigMap that Kustomize generates from the document's file; empty: none.
  std::string generated_of(const Node& root) const;
  // Returns true for values that are handled with the use of their chart.
  bool is_values(const Node& node) const { return values_.contains(&node); }

 private:
  void index(const Node& root);
  void find_uses(const Node& node);
  void add_use(const Node& map);
  void add_dependencies(const Node& chart_file);
  const Node* file(const std::string& name, const FileName& from) const;
  // Adds the values under `key` of the file or of the generated ConfigMap.
  void add_config_map(const std::string& name, const std::string& key, ChartUse& use);
  void add_values(const Node& values, ChartUse& use);

  Diagnostics& diagnostics_;
  std::map<std::string, const Node*> files_;        // the first document of each file
  std::map<std::string, const Node*> config_maps_;  // objects, by name
  std::map<std::string, const Node*> generated_;    // values, by the name of the ConfigMap
  std::map<const Node*, ChartUse> uses_;
  std::set<const Node*> values_;
};

}  // namespace plughost
