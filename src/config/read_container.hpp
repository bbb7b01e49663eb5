#pragma once
// What an entry puts into a container, and the programs that it has run. Thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "device/recipe.hpp"
#include "document/fields.hpp"

namespace plughost {

using Words = std::vector<std::string_view>;

// What every template of an allocation may name, whatever the kind.
inline constexpr std::string_view kCommonNames[] = {"resource", "resourceEnv", "count", "id", "n"};

// The template with x for every placeholder: what can be checked before the values are known.
std::string sample(const Template& pattern);

void refuse_what_is_no_text(const Node& value, const std::string& path, Diagnostics& diagnostics);

// `health`, `preStart`, `allocate`, `onRemove` and `whenUnhealthy`. of_device: what their words may name.
void read_programs(Fields& entry, const Words& of_device, Recipe& recipe);

// `env`, `annotations`, `mounts` and `nodes`. known: what their templates may name.
void read_container(Fields& entry, const Words& known, Recipe& recipe);

}  // namespace plughost
