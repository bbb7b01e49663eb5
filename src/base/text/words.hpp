#pragma once
// The names of an enumeration's values, in one table per enumeration. Pure functions, thread-safe.

#include <optional>
#include <string_view>

namespace plughost {

// Example: constexpr Word<Colour> kColours[] = {{"red", Colour::kRed}, …}; the order does not matter.
template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

// Returns the first word of the value, or "" if the table does not have the value.
template <typename Value, std::size_t n>
constexpr std::string_view word_of(const Word<Value> (&words)[n], Value value) {
  for (const Word<Value>& each : words) {
    if (each.value == value) return each.word;
  }
  return {};
}

template <typename Value, std::size_t n>
constexpr std::optional<Value> value_of(const Word<Value> (&words)[n], std::string_view word) {
  for (const Word<Value>& each : words) {
    if (each.word == word) return each.value;
  }
  return std::nullopt;
}

}  // namespace plughost
