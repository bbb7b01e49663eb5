#include "device/id.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "device/hash.hpp"

namespace plughost {
namespace {

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
    digits += lower_hex(value >> shift);
  }
  return digits;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
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
    const std::size_t length = first_character(rest).length;
    const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
    rest.remove_prefix(character.size());
    if (length > 0 && stands_for_itself(character)) {
      id += character;
      ++characters;
    } else {
      for (const char c : character) {
        id += '%' + upper_hex(c);
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
