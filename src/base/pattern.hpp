#pragma once
// Patterns of names, as a shell has them. Pure functions, thread-safe.

#include <fnmatch.h>

#include <string>
#include <string_view>

namespace plughost {

// Does the fnmatch(3) pattern match the whole text? '*' matches '/' and a leading '.', too.
inline bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Does it say more than one name? A backslash alone does not.
inline bool has_wildcards(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace plughost
