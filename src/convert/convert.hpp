#pragma once
// Another plugin's configuration in plughost's words. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "document/diagnostics.hpp"
#include "document/node.hpp"

namespace plughost {

struct Conversion {
  std::string_view from;    // whose it was: "smarter-device-manager"
  std::string text;         // YAML, with a comment at each thing that differs or cannot be kept
  std::size_t entries = 0;  // that are kept
  std::size_t notes = 0;    // comments
};

// root: their configuration; nullptr: the command line is all there is. arguments: their command line, as in
// a shell; empty: none. nullopt: reported, and nobody's if it is not known.
std::optional<Conversion> convert(const Node* root, std::string_view arguments, Diagnostics& diagnostics);

}  // namespace plughost
