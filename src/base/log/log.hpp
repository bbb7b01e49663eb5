#pragma once
// One line per change of state: fixed words plus fields. Thread-safe.

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/log/log_history.hpp"
#include "base/log/log_line.hpp"
#include "base/system/systemd.hpp"
#include "base/system/tally.hpp"

namespace plughost {

enum class LogFormat { kAuto, kJson };  // auto: the journal's own fields, or a terminal's colours

class Log {
 public:
  using Fields = LogFields;
  // Of lines with the same words at most so many are written within the time: what flaps must not drown the
  // rest. The next one that is written says how many were not.
  static constexpr unsigned kBurst = 1000;
  static constexpr std::chrono::seconds kBurstTime{10};

  // Writes to standard error, or to the journal if that is what standard error is.
  Log(LogLevel level, LogFormat format, std::filesystem::path journal = kJournalSocket);
  ~Log();
  Log& operator=(Log&&) = delete;

  void configure(LogLevel level, LogFormat format);

  // Lines of level info and above, whatever is written.
  LogHistory& history() { return history_; }
  const Counter& warnings() const { return warnings_; }
  const Counter& errors() const { return errors_; }

  void debug(std::string_view words, Fields fields = {}) { write(LogLevel::kDebug, words, fields); }
  void info(std::string_view words, Fields fields = {}) { write(LogLevel::kInfo, words, fields); }
  void warn(std::string_view words, Fields fields = {}) { write(LogLevel::kWarn, words, fields); }
  void error(std::string_view words, Fields fields = {}) { write(LogLevel::kError, words, fields); }

 private:
  void write(LogLevel level, std::string_view words, Fields fields);

  LogHistory history_;
  Counter warnings_;
  Counter errors_;
  struct Sinks;
  std::unique_ptr<Sinks> sinks_;
};

}  // namespace plughost
