#pragma once
// Helpers for texts: UTF-8, numbers, lists, tables, patterns, and text from untrusted sources. Pure
// functions, thread-safe.

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plughost {

// Returns the text as one word of a line: as a JSON string if the text is empty, or has a space, a double
// quote, a backslash, '=', a control character or a byte outside ASCII.
std::string one_word(std::string_view text);
// Text from untrusted sources (a device's serial number, an annotation, another program's file) must not move
// a terminal's cursor, end a line of a log or change the direction of the text beside it. The next three
// functions make such text safe where it leaves the program. Our JSON and YAML escape the same characters.
//
// Returns true for C0, DEL, C1, U+2028, U+2029 and the directional controls of Unicode (UAX #9).
bool is_unsafe(char32_t code);
// Replaces each byte of an unsafe character, and each byte that is not UTF-8, by \xNN. Characters in `kept`
// are not replaced.
std::string printable(std::string_view text, std::string_view kept = {});
// Returns "\u202e" for U+202E. code: at most U+FFFF, as all unsafe characters are.
std::string unicode_escape(char32_t code);
// Returns "2026-11-21T18:00:00.000000Z". `microseconds` count from 1970, UTC.
std::string utc_text(std::int64_t microseconds);
inline std::string utc_text(std::chrono::system_clock::time_point time) {
  return utc_text(std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count());
}
// Parses such a timestamp. Returns nullopt if it is malformed.
std::optional<std::int64_t> microseconds_of(const std::string& utc_text);

// Returns "1 node", "2 nodes", "2 entries".
template <std::integral Number>
std::string counted(Number number, std::string_view noun) {
  std::string text = std::to_string(number).append(1, ' ').append(noun);
  if (number != 1 && text.ends_with('y')) text.replace(text.size() - 1, 1, "ie");
  return text.append(number == 1 ? "" : "s");
}

// Returns words or numbers as one text, with `between` between them.
template <typename Range>
std::string joined(const Range& words, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& word : words) {
    if (!first) text += between;
    first = false;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>)
      text += std::to_string(word);
    else
      text += word;
  }
  return text;
}

// Returns the parts between the separators, as views into the text. An empty text has no part, and a
// separator at the end begins none.
std::vector<std::string_view> split(std::string_view text, char separator);

// Sorts the values, and removes repetitions.
template <typename Value>
void sort_unique(std::vector<Value>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// A character of UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // in bytes; 0: the text is empty, or does not begin with a valid character
};
Character first_character(std::string_view text);
// Returns the longest beginning that has whole, valid characters only and at most `most` bytes.
std::string_view whole_characters(std::string_view text, std::size_t most);

// Parses a decimal number: digits only, and a leading '-' if Number is signed. Returns nullopt if any other
// character occurs or the number is greater than `most`.
template <typename Number>
std::optional<Number> number_in(std::string_view text, Number most = std::numeric_limits<Number>::max()) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number > most) return std::nullopt;
  return number;
}

using TableRow = std::vector<std::string>;

// Returns "gpu-0", or "gpu-0 (x4)" for a device with four replicas.
std::string id_text(const std::string& id, unsigned replicas);
// Returns "Healthy", or "Unhealthy" with the error.
std::string health_text(const std::string& error);

enum class Colour { kNone, kRed, kYellow, kGreen };

// Each row must have as many cells as the head. Cells are made printable(); an empty cell becomes "-".
// `colour_of` returns the colour of a cell on a terminal; nullptr: none has one.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows,
                 Colour (*colour_of)(std::string_view cell) = nullptr);

// Returns true if the fnmatch(3) pattern matches the whole text. '*' matches '/' and a leading '.' as well.
inline bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Returns true if the pattern has a wildcard. A backslash is not a wildcard.
inline bool has_wildcards(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

// Returns the pattern that matches only this text.
std::string without_wildcards(std::string_view text);

}  // namespace plughost
