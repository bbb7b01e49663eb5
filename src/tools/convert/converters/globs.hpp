#pragma once
// Translates regular expressions into file name patterns. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

struct Globs {
  std::vector<std::string> patterns;  // glob(7), without repetitions
  bool exact = true;                  // false: the expression also matches deeper directories, or '/' for '.'
  // An unlimited repetition was limited to kMostRepeats: `bounded` for digits, `cut` for other characters.
  bool bounded = false;
  bool cut = false;
};

inline constexpr unsigned kMostRepeats = 3;

inline constexpr unsigned kMostDirectories = 3;

// Returns patterns that together match what Go's regexp finds in a path without a leading '/', in up to
// `directories` directories. Supports letters, classes, '.', groups, '|', '^', '$', '?', '*', '+' and {m,n}.
// Returns nullopt for anything else, or if too many patterns are needed.
std::optional<Globs> globs_of(std::string_view regex, unsigned directories = kMostDirectories);

}  // namespace plughost
