#pragma once
// What the commands print for programs.

#include <iosfwd>

#include "commands/command.hpp"
#include "text/json.hpp"

namespace plughost {

// kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);

}  // namespace plughost
