#include "base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace plughost {

std::string one_word(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::none_of(text, [](char c) {
    return c <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f;
  });
  if (plain) return std::string(text);
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

}  // namespace plughost
