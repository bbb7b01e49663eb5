#pragma once
// Text as characters. Pure functions, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace plughost {

// One character of UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing above U+10FFFF).
struct Character {
  char32_t code = 0;
  std::size_t length =
      0;  // in bytes; 0: there is none, for the text is at its end or goes on with something else
};
Character first_character(std::string_view text);

// The text with a '?' for each byte that is no part of a character.
std::string with_valid_utf8(std::string_view text);

}  // namespace plughost
