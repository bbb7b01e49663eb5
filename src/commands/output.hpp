#pragma once
// What the commands print for programs.

#include <iosfwd>

#include "base/json.hpp"
#include "commands/command.hpp"

namespace plughost {

// kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);

}  // namespace plughost
