#pragma once
// Numbers as they are written: digits and nothing else. Pure functions, thread-safe.

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace plughost {

// The decimal number that all of the text is, with a '-' before it if Number can be below zero. nullopt: it
// is none, or more than most.
template <typename Number>
std::optional<Number> number_in(std::string_view text, Number most = std::numeric_limits<Number>::max()) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number > most) return std::nullopt;
  return number;
}

}  // namespace plughost
