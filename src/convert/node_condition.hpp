#pragma once
// On which nodes a plugin ran, as entries' `when`. Internal to convert.

#include "converters/converter.hpp"
#include "manifests/manifests.hpp"

namespace plughost {

// Each entry applies on the nodes that theirs ran on, with the configuration that these have chosen.
void set_nodes(const FoundPlugin& found, ConfigDraft& draft);

}  // namespace plughost
