#pragma once
// `nodeResources` of an entry. Thread-safe.

#include <vector>

#include "device/node_resources.hpp"
#include "document/fields.hpp"

namespace plughost {

// As many as the document has, in its order. What is wrong is reported.
std::vector<NodeResourceRecipe> read_node_resources(Fields& entry);

}  // namespace plughost
