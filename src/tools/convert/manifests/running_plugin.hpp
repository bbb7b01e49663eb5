#pragma once
// Identifies the device plugin that a container runs. Thread-safe.

#include <optional>
#include <string>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "config/other_plugin.hpp"
#include "tools/convert/manifests/arguments.hpp"

namespace plughost {

// Returns the command of a container in a manifest or in a chart's values. Reports invalid words at `place`.
PluginCommand command_of(const Node& container, const std::string& place, Diagnostics& diagnostics);

// Identifies a plugin by its image, its program, or a flag or variable that only it has.
std::optional<OtherPlugin> running_plugin(const PluginCommand& line);
// Returns the image of a device plugin without a converter, with its name if known: "HAMi's device plugin
// (projecthami/hami)". Returns an empty text for any other image.
std::string unknown_plugin(const PluginCommand& line);
// Returns true if the plugin offers devices without a configuration file.
bool runs_without_file(OtherPlugin plugin);

}  // namespace plughost
