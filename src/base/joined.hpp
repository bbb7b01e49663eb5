#pragma once
// A list in one text. Pure functions, thread-safe.

#include <string>
#include <string_view>
#include <type_traits>

namespace plughost {

// Words or numbers.
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

}  // namespace plughost
