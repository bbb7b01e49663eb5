#pragma once
// What the entries of a configuration do that the unit's sandbox keeps from them. Pure functions,
// thread-safe.

#include "config/config.hpp"

namespace plughost {

// Of all entries, whether they apply on this node now or not: what is to be opened must not change with a
// device that comes.
SandboxNeeds sandbox_needs(const Config& config);

}  // namespace plughost
