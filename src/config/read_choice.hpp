#pragma once
// `only`, `except` and `replicas` of an entry. Thread-safe.

#include <span>
#include <string_view>

#include "device/recipe.hpp"
#include "document/fields.hpp"

namespace plughost {

// attributes: what the entry's devices have, "id" among them.
Choice read_choice(Fields& entry, std::span<const std::string_view> attributes);

// Sets the recipe's replicas and replicas_of.
void read_replicas(Fields& entry, std::span<const std::string_view> attributes, Recipe& recipe);

}  // namespace plughost
