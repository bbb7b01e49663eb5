#pragma once
// What a configuration has to be allowed in the API server. Pure functions of values, thread-safe.

#include <string>
#include <vector>

#include "config/config.hpp"

namespace plughost {

struct Right {
  std::string verb;         // "list"
  std::string group = {};   // "resource.k8s.io"; empty: the core group
  std::string resource;     // "pods"
  std::string subresource;  // "status"; empty: none
  // Of which alone: {node} stands for our node's name. Empty: of all. A node's own account may ask for no
  // others.
  std::string field_selector;  // "spec.nodeName={node}"
  std::string name;            // "{node}"
  std::string key;             // of the configuration that needs it: "events"
  bool for_devices = false;    // without it pods do not get what the configuration promises

  // A node's own account may do this to what is known to be the node's, and to nothing else: nobody can say
  // beforehand of all.
  bool of_own_objects = false;

  // "list pods, where spec.nodeName={node}"
  std::string text() const;
  bool operator==(const Right&) const = default;
};

// In the order of their keys' first use; each right once. Nothing: the API server is not asked.
std::vector<Right> rights_of(const Config& config);

}  // namespace plughost
