#pragma once
// Which device plugin a container runs. Thread-safe.

#include <optional>

#include "config/other_plugin.hpp"
#include "convert/arguments.hpp"

namespace plughost {

// By its image's name, its program's, a flag that only it has, or a variable that only it reads.
std::optional<OtherPlugin> running_plugin(const PluginCommand& line);
// Does it offer something without a configuration file?
bool runs_without_file(OtherPlugin plugin);

}  // namespace plughost
