#pragma once
// An answer for people, and for programs. The member names are the configuration's. Pure functions,
// thread-safe.

#include <string>

#include "base/text/json.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {

Json json_of(const ContainerNode& node);
Json json_of(const ContainerMount& mount);
// byCdi is what the names under cdi bring: it is not in the answer itself.
Json json_of(const Allocation& allocation);
// One line per fact, for people: "env  NAME=value".
std::string text_of(const Allocation& allocation, const std::string& indent);

}  // namespace plughost
