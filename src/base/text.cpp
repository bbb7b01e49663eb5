#include "base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/ascii.hpp"
#include "base/json.hpp"

namespace plughost {

std::string one_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::none_of(text, [](char c) {
    return c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f;
  });
  if (plain) return std::string(text);
  return json_string(text);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) shown += is_control(c) ? "\\x" + upper_hex(c) : std::string(1, c);
  return shown;
}

std::string utc_text(std::int64_t microseconds) {
  const std::time_t seconds = microseconds / 1'000'000;
  tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[48];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(microseconds % 1'000'000));
  return text;
}

std::optional<std::int64_t> microseconds_of(const std::string& utc_text) {
  tm utc{};
  const char* const rest = ::strptime(utc_text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  int micros = 0;
  int length = 0;
  if (rest == nullptr || std::sscanf(rest, ".%6dZ%n", &micros, &length) != 1 || length != 8 ||
      rest[length] != '\0')
    return std::nullopt;
  return std::int64_t{::timegm(&utc)} * 1'000'000 + micros;
}

}  // namespace plughost
