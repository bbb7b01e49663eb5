#pragma once
// What is asked of a reload. A value.

#include <chrono>
#include <optional>

#include "base/log_line.hpp"

namespace plughost {

struct ReloadOrder {
  std::optional<LogLevel> level;  // of the log until the next reload; nullopt: the configuration's
  std::optional<std::chrono::seconds> confirm;  // what is read is on trial for so long; nullopt: it is not

  bool operator==(const ReloadOrder&) const = default;
};

}  // namespace plughost
