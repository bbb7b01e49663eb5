#pragma once
// Text as lines for people have it. Pure functions, thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plughost {

// One word of one line: what is empty, or has a space, a quote, a control character or a byte that is not
// ASCII in it, is a JSON string.
std::string one_word(std::string_view text);
// Control characters are escaped as \xNN, so that what others wrote stays on its line.
std::string printable(std::string_view text);
// "2026-11-21T18:00:00.000000Z" of microseconds since 1970.
std::string utc_text(std::int64_t microseconds);
// The other way round; nullopt: it is no such text.
std::optional<std::int64_t> microseconds_of(const std::string& utc_text);

}  // namespace plughost
