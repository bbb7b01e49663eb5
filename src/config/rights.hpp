#pragma once
// What a configuration has to be allowed in the API server. Pure functions of values, thread-safe.

#include <string>
#include <vector>

#include "config/config.hpp"

namespace plughost {

struct Right {
  std::string verb;         // "list"
  std::string group = {};   // empty: the core group
  std::string resource;     // "nodes"
  std::string subresource;  // "status"; empty: none
  // Of which alone: {node} stands for our node's name. Empty: of all. A node's own account may ask for no
  // others.
  std::string field_selector;  // "metadata.name={node}"
  std::string name;            // "{node}"
  std::string key;             // of the configuration that needs it first: "nodeResources"

  // "list nodes, where metadata.name={node}"
  std::string text() const;
  bool operator==(const Right&) const = default;
};

// Each once. Nothing: the API server is not asked.
std::vector<Right> rights_of(const Config& config);

}  // namespace plughost
