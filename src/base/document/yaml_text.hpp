#pragma once
// YAML that is written. Thread-safe.

#include <string>

#include "base/text/json.hpp"

namespace plughost {

// In block style, without a final newline; and in flow style. Texts are in quotes wherever a reader of YAML
// could take them for something else.
std::string yaml_of(const Json& json);
std::string yaml_in_one_line(const Json& json);

}  // namespace plughost
