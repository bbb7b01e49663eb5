#pragma once
// An allocation as text and as JSON. The member names are those of the configuration. Pure functions,
// thread-safe.

#include <string>

#include "base/text/json.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {

Json json_of(const ContainerNode& node);
Json json_of(const ContainerMount& mount);
// The member `byCdi` has the edits of the names under `cdi`, and is not part of the response.
Json json_of(const Allocation& allocation);
// Returns one line per variable, node, mount, annotation and CDI name: "env  NAME=value".
std::string text_of(const Allocation& allocation, const std::string& indent);

}  // namespace plughost
