#pragma once
// Where the search through manifests is. Internal to manifests.

#include <string>
#include <vector>

#include "document/node.hpp"
#include "manifests/node_choice.hpp"

namespace plughost {

// Where the search is.
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

}  // namespace plughost
