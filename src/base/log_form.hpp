#pragma once
// How a line of the log looks, by whom it is read. Pure functions, thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/log_line.hpp"

namespace plughost {

enum class LogForm : std::uint8_t { kText, kColours, kJson, kJournal };

struct LogMessage {
  LogLevel level = LogLevel::kInfo;
  std::string_view words;
  LogFields fields;
  unsigned left_out = 0;  // lines with the same words before it
  std::chrono::system_clock::time_point time{};
};

// A line as it is written.
struct LogLine {
  std::string text;      // for standard error, with its end
  std::string datagram;  // for the journal, which is asked first; empty: it is not meant for it

  std::size_t size() const { return text.size() + datagram.size(); }
};

LogLine formed(LogForm form, const LogMessage& message);

}  // namespace plughost
