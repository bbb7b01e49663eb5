#pragma once
// What an entry says of Dynamic Resource Allocation: `advertise`, `attributes` and `onUnhealthy`.
// Thread-safe.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/recipe.hpp"
#include "document/fields.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// Has the entry `advertise: dra`?
bool is_advertised_by_dra(Fields& entry);

// nullptr for an entry that is not. What such an entry cannot have, and what no other can, is reported. The
// recipe is the entry's, but for this; source may be nullptr; known: what templates may name.
std::shared_ptr<const DraTerms> read_dra(Fields& entry, bool dra, std::span<const Kind* const> of,
                                         const DeviceSource* source, const Recipe& recipe,
                                         std::span<const std::string_view> known);

}  // namespace plughost
