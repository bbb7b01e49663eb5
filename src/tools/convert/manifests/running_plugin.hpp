#pragma once
// What a container runs, and which device plugin that is. Thread-safe.

#include <optional>
#include <string>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "config/other_plugin.hpp"
#include "tools/convert/manifests/arguments.hpp"

namespace plughost {

// What a container of a manifest, or a chart's values, has it run. What is wrong with its words is reported
// at place.
PluginCommand command_of(const Node& container, const std::string& place, Diagnostics& diagnostics);

// By its image's name, its program's, a flag that only it has, or a variable that only it reads.
std::optional<OtherPlugin> running_plugin(const PluginCommand& line);
// The image of a device plugin that plughost has no converter for, and its name where it is known: "HAMi's
// device plugin (projecthami/hami)"; empty: it is none.
std::string unknown_plugin(const PluginCommand& line);
// Does it offer something without a configuration file?
bool runs_without_file(OtherPlugin plugin);

}  // namespace plughost
