#pragma once
// What the log's levels are called, from the lowest on.

#include "base/log_line.hpp"
#include "base/words.hpp"

namespace plughost {

inline constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warn", LogLevel::kWarn},
                                                {"error", LogLevel::kError}};

}  // namespace plughost
