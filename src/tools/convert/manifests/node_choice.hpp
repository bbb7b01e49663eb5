#pragma once
// On which nodes a pod runs. Plain values.

#include <string>
#include <vector>

#include "base/document/node.hpp"

namespace plughost {

// A condition on one label of a node.
struct LabelTerm {
  std::string label;
  bool is = true;                   // false: it has none of the values
  std::vector<std::string> values;  // empty: any
  bool operator==(const LabelTerm&) const = default;
};

struct NodeChoice {
  std::vector<std::vector<LabelTerm>> any_of;  // of each all; empty: all nodes
  // "nvidia.com/gpu.present: true": labels that say that the hardware is there.
  std::vector<std::string> of_hardware;
  std::vector<std::string> unsaid;  // "example.com/size Gt 4": what is no label that has a value
  bool operator==(const NodeChoice&) const = default;
};

// pod: a map with `nodeSelector` or `affinity`.
NodeChoice node_choice(const Node& pod);

// The nodes that both are for, and those that one of them is for.
NodeChoice both(const NodeChoice& one, const NodeChoice& other);
NodeChoice either(const NodeChoice& one, const NodeChoice& other);

}  // namespace plughost
