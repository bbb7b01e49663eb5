#pragma once
// What the commands print: text for people, JSON or YAML for programs. The member names are the
// configuration's.

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "device/allocation.hpp"
#include "device/device.hpp"

namespace CLI {
class App;
}

namespace plughost {

using Json = nlohmann::ordered_json;

Json json_of(const DeviceNode& node);
Json json_of(const Mount& mount);
// byCdi is what the names under cdi bring: it is not in the answer itself.
Json json_of(const Allocation& allocation);
// One line per fact, for people: "env  NAME=value".
std::string text_of(const Allocation& allocation, const std::string& indent);

enum class OutputFormat { kTable, kJson, kYaml };

// kJson or kYaml. What is not UTF-8 is replaced.
void print(std::ostream& out, const Json& json, OutputFormat format);
// Declares --control: the socket of the daemon to ask.
void add_control_option(CLI::App& command, std::string& socket);
// Declares -o.
void add_output_option(CLI::App& command, OutputFormat& format);

}  // namespace plughost
