#pragma once
// What a line of the log is made of. Values.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/words.hpp"

namespace plughost {

// As spdlog counts them. kError: somebody must act.
enum class LogLevel { kDebug = 1, kInfo = 2, kWarn = 3, kError = 4 };

struct LogField {
  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

// A line as one text: words, then each field's key and value. In them is no null, which is between them.
std::string packed(std::string_view words, LogFields fields);
// What was packed: the words first. Views into the text.
std::vector<std::string_view> unpacked(std::string_view text);

std::string_view level_name(LogLevel level);  // debug, info, warn, error

// What the log's levels are called, from the lowest on.

inline constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warn", LogLevel::kWarn},
                                                {"error", LogLevel::kError}};

}  // namespace plughost
