#pragma once
// YAML for people's eyes. Thread-safe.

#include <string>

namespace plughost {

// The same document in YAML's block style; JSON is YAML, so nothing but the layout changes. No final newline.
std::string yaml_from_json(const std::string& json);

}  // namespace plughost
