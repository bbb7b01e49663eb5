#pragma once
// What a line of the log is made of. Values.

#include <initializer_list>
#include <string>
#include <string_view>

namespace plughost {

// kError: somebody must act.
enum class LogLevel { kDebug, kInfo, kWarn, kError };

struct LogField {
  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

std::string_view level_name(LogLevel level);  // debug, info, warn, error

}  // namespace plughost
