#pragma once
// YAML for people's eyes. Thread-safe.

#include <string>

namespace plughost {

enum class Quotes {
  kAlways,
  kWhereNeeded,  // texts that every reader of YAML takes for texts have none
};

// The same document in YAML's block style; JSON is YAML, so nothing but the layout changes. No final newline.
std::string yaml_from_json(const std::string& json, Quotes quotes = Quotes::kAlways);

}  // namespace plughost
