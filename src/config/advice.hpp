#pragma once
// Completes errors of a configuration by what their author probably meant: where an unknown key belongs, and
// an example of what belongs at a key. Pure functions; thread-safe.

#include <vector>

#include "base/document/diagnostics.hpp"

namespace plughost {

void advise(std::vector<Diagnostic>& errors);

}  // namespace plughost
