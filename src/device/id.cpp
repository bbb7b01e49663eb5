#include "device/id.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "device/hash.hpp"

namespace plughost {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// The length of the UTF-8 sequence that text begins with; 0 if it begins with none (RFC 3629: nothing
// overlong, no surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool too_high = first == 0xF4 && second > 0x8F;
  return continues(1) && continues(2) && continues(3) && !overlong && !too_high ? 4 : 0;
}

// Can the character (one UTF-8 sequence) stand in an id as it is? C0, DEL and C1 cannot, nor what the escapes
// and the lists of ids need.
bool stands_for_itself(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c > ' ' && c != '\x7f' && c != '%' && c != ',';
  }
  return !(character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0);
}

std::string hex(std::uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[value >> shift & 0xFu];
  }
  return digits;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string stable_id(std::string_view name, std::size_t longest) {
  constexpr std::size_t kSuffix = 1 + 16;
  assert(!name.empty() && longest > kSuffix);
  const bool usual = name.size() <= longest && std::ranges::all_of(name, [](char c) {
                       return c > ' ' && c < '\x7f' && c != '%' && c != ',';
                     });
  if (usual) return std::string(name);
  std::string id;
  std::size_t characters = 0;
  std::size_t kept = 0;  // the bytes that stay if the id has to be cut
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t length = sequence_length(rest);
    const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
    rest.remove_prefix(character.size());
    if (length > 0 && stands_for_itself(character)) {
      id += character;
      ++characters;
    } else {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        id += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 0xFu]};
        characters += 3;
      }
    }
    if (characters <= longest - kSuffix) kept = id.size();
  }
  if (characters <= longest) return id;
  id.resize(kept);
  return id + '-' + hex(fnv1a(name));
}

}  // namespace plughost
