#include "base/utf8.hpp"

namespace plughost {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const auto bits = [&](std::size_t i) { return byte(i) & 0x3Fu; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (text.empty()) return {};
  if (first < 0x80) return {first, 1};
  if (first < 0xC2) return {};
  if (first < 0xE0) return continues(1) ? Character{(first & 0x1Fu) << 6 | bits(1), 2} : Character{};
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    if (!continues(1) || !continues(2) || overlong || surrogate) return {};
    return {(first & 0x0Fu) << 12 | bits(1) << 6 | bits(2), 3};
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool too_high = first > 0xF4 || (first == 0xF4 && second > 0x8F);
  if (!continues(1) || !continues(2) || !continues(3) || overlong || too_high) return {};
  return {(first & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3), 4};
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t next = first_character(text.substr(length)).length;
    if (next == 0 || length + next > most) break;
    length += next;
  }
  return text.substr(0, length);
}

}  // namespace plughost
