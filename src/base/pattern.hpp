#pragma once
// Patterns of names, as a shell has them. Pure functions, thread-safe.

#include <fnmatch.h>

#include <string>

namespace plughost {

// Does the fnmatch(3) pattern match the whole text? '*' matches '/' and a leading '.', too.
inline bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace plughost
