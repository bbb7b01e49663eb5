#pragma once
// What the commands print: text for people, JSON or YAML for programs. The member names are the
// configuration's.

#include <iosfwd>
#include <string>

#include "base/json.hpp"
#include "commands/command.hpp"
#include "device/allocation.hpp"
#include "device/device.hpp"

namespace plughost {

Json json_of(const ContainerNode& node);
Json json_of(const ContainerMount& mount);
// byCdi is what the names under cdi bring: it is not in the answer itself.
Json json_of(const Allocation& allocation);
// One line per fact, for people: "env  NAME=value".
std::string text_of(const Allocation& allocation, const std::string& indent);

// kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);

}  // namespace plughost
