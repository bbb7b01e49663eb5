#pragma once
// UIDs as the API server gives them. Pure functions, thread-safe.

#include <string_view>

#include "base/ascii.hpp"

namespace plughost {

// Can a file and a CDI device be called after it? A UUID can, and nothing that leads out of a directory.
inline bool is_uid(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  if (text.empty() || text.size() > kLongest) return false;
  for (const char c : text) {
    if (!is_letter_or_digit(c) && c != '-') return false;
  }
  return text.front() != '-' && text.back() != '-';
}

}  // namespace plughost
