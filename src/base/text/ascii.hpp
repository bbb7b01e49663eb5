#pragma once
// Classifies and converts ASCII characters, independent of the locale. Pure functions, thread-safe.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace plughost {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

constexpr bool is_letter(char c) { return is_upper(c) || is_lower(c); }

constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

constexpr bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

// Returns true for the characters that separate words and end lines.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return to_lower(c); });
  return lower;
}

inline bool is_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

// Returns the text without leading and trailing blanks. The view is part of `text`, and lives as long.
constexpr std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Returns a byte as two hexadecimal digits: "0A" for a newline.
inline std::string upper_hex(char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {kDigits[byte >> 4u], kDigits[byte & 0xFu]};
}

// Returns the hexadecimal digit of the lowest four bits.
constexpr char lower_hex(std::uint64_t bits) { return "0123456789abcdef"[bits & 0xFu]; }

}  // namespace plughost
