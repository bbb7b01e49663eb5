#pragma once
// Regular expressions as patterns for file names. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

struct Globs {
  std::vector<std::string> patterns;  // glob(7); no two of them are the same
  bool exact = true;  // false: the expression finds more: in deeper directories, or a '/' for '.'
  // A repetition without end is written out up to kMostRepeats: of digits, or of something else.
  bool bounded = false;
  bool cut = false;
};

inline constexpr unsigned kMostRepeats = 3;

inline constexpr unsigned kMostDirectories = 3;

// Patterns that together match what Go's regexp finds in a path without '/' at its beginning, in up to as
// many directories. Letters, classes, '.', groups, '|', '^', '$', '?', '*', '+' and {m,n} are
// understood. nullopt: it uses something else, or would need too many patterns.
std::optional<Globs> globs_of(std::string_view regex, unsigned directories = kMostDirectories);

}  // namespace plughost
