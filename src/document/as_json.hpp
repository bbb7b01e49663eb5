#pragma once
// A Node as JSON. Thread-safe.

#include "base/json.hpp"
#include "document/node.hpp"

namespace plughost {

// Every scalar is the text that was written, a number and a flag, too.
Json as_json(const Node& node);

}  // namespace plughost
