#pragma once
// The nodes on which a pod runs. Plain values.

#include <string>
#include <vector>

#include "base/document/node.hpp"

namespace plughost {

// A condition on one label of a node.
struct LabelTerm {
  std::string label;
  bool is = true;                   // false: the label has none of the values
  std::vector<std::string> values;  // empty: any value
  bool operator==(const LabelTerm&) const = default;
};

struct NodeChoice {
  std::vector<std::vector<LabelTerm>>
      any_of;  // alternatives, each a list of terms that must all hold; empty: all nodes
  // Labels that show that the hardware is present, such as "nvidia.com/gpu.present: true".
  std::vector<std::string> of_hardware;
  std::vector<std::string> unsaid;  // conditions other than a label's value: "example.com/size Gt 4"
  bool operator==(const NodeChoice&) const = default;
};

// Returns the nodes on which a pod runs. `pod` is a map with `nodeSelector` or `affinity`.
NodeChoice node_choice(const Node& pod);

// Return the intersection and the union of two choices.
NodeChoice both(const NodeChoice& one, const NodeChoice& other);
NodeChoice either(const NodeChoice& one, const NodeChoice& other);

}  // namespace plughost
