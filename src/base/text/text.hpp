#pragma once
// Text: of UTF-8, of numbers, of lists, of tables, of what others print, and patterns of it. Pure functions,
// thread-safe.

#include <fnmatch.h>

#include <charconv>
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

// One word of one line: what is empty, or has a space, a quote, a control character or a byte that is not
// ASCII in it, is a JSON string.
std::string one_word(std::string_view text);
// What a stranger wrote (a device's serial number, an annotation, a file of another program) must not move a
// terminal's cursor, end a line of a log, or change the direction of what stands beside it. These three make
// it safe wherever it leaves the program as text; JSON and YAML escape the same characters.
//
// True for C0, DEL, C1, U+2028 and U+2029, and Unicode's controls of direction (UAX #9).
bool is_unsafe(char32_t code);
// Replaces each byte of an unsafe character, and each byte that is not UTF-8, by \xNN. Characters in `kept`
// stay.
std::string printable(std::string_view text, std::string_view kept = {});
// Returns "\u202e" for U+202E: at most U+FFFF, as all unsafe characters are.
std::string unicode_escape(char32_t code);
// "2026-11-21T18:00:00.000000Z" of microseconds since 1970.
std::string utc_text(std::int64_t microseconds);
// The other way round; nullopt: it is no such text.
std::optional<std::int64_t> microseconds_of(const std::string& utc_text);

// Returns "1 node", "2 nodes", "2 entries".
template <std::integral Number>
std::string counted(Number number, std::string_view noun) {
  std::string text = std::to_string(number).append(1, ' ').append(noun);
  if (number != 1 && text.ends_with('y')) text.replace(text.size() - 1, 1, "ie");
  return text.append(number == 1 ? "" : "s");
}

// A list of words or numbers in one text.
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

// One character of UTF-8 (RFC 3629: nothing overlong, no surrogates, nothing above U+10FFFF).
struct Character {
  char32_t code = 0;
  std::size_t length =
      0;  // in bytes; 0: there is none, for the text is at its end or goes on with something else
};
Character first_character(std::string_view text);
// The beginning of the text: its whole characters in at most so many bytes, up to what is no UTF-8.
std::string_view whole_characters(std::string_view text, std::size_t most);

// The decimal number that all of the text is, digits and nothing else, with a '-' before it if Number can be
// below zero. nullopt: it is none, or more than most.
template <typename Number>
std::optional<Number> number_in(std::string_view text, Number most = std::numeric_limits<Number>::max()) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number > most) return std::nullopt;
  return number;
}

// Text for people: a table whose columns are as wide as their widest cell.

using TableRow = std::vector<std::string>;

// "gpu-0", and "gpu-0 (x4)" of one that is offered four times.
std::string id_text(const std::string& id, unsigned replicas);
// "Healthy", or "Unhealthy" with the reason.
std::string health_text(const std::string& error);

// Every row has as many cells as the head. Cells are shown printable.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows);

// Patterns of names, as a shell has them. Pure functions, thread-safe.

// Does the fnmatch(3) pattern match the whole text? '*' matches '/' and a leading '.', too.
inline bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Does it say more than one name? A backslash alone does not.
inline bool has_wildcards(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace plughost
