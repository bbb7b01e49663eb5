#pragma once
// JSON of a peer that is not trusted, such as the API server, as a value. Pure functions, thread-safe.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.hpp"

namespace plughost {

inline constexpr std::size_t kMostJsonValues = 1'000'000;

// The value without `managedFields`, which nobody here reads and which are a third of an object; a number
// that is no integer of 64 bits is its text. Or why it is none, as a sentence.
std::variant<Json, std::string> parse_api_json(std::string_view text,
                                               std::size_t most_values = kMostJsonValues);

}  // namespace plughost
