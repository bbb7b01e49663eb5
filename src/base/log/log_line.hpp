#pragma once
// The parts of a log line. Values.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/words.hpp"

namespace plughost {

// Numbered as in spdlog. kError: an operator must act.
enum class LogLevel { kDebug = 1, kInfo = 2, kWarn = 3, kError = 4 };

struct LogField {
  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

// Returns a line as one text: the words, then each field's key and value, separated by null characters. A
// null character within them becomes a space.
std::string packed(std::string_view words, LogFields fields);
// Splits a packed() text: the words come first. The views refer to the text.
std::vector<std::string_view> unpacked(std::string_view text);

std::string_view level_name(LogLevel level);  // debug, info, warn, error

inline constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warn", LogLevel::kWarn},
                                                {"error", LogLevel::kError}};

}  // namespace plughost
