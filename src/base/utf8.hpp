#pragma once
// Text as characters. Pure functions, thread-safe.

#include <cstddef>
#include <string_view>

namespace plughost {

// One character of UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing above U+10FFFF).
struct Character {
  char32_t code = 0;
  std::size_t length =
      0;  // in bytes; 0: there is none, for the text is at its end or goes on with something else
};
Character first_character(std::string_view text);
// The beginning of the text: its whole characters in at most so many bytes, up to what is no UTF-8.
std::string_view whole_characters(std::string_view text, std::size_t most);

}  // namespace plughost
