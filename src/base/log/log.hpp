#pragma once
// The log: one line per change of state, with fixed words and fields. Thread-safe.
//
// A reader of the log that stops, such as a full pipe or a hung journal, must not stop the daemon, and a line
// that explains a fault must not be lost among thousands. Callers therefore format a line and leave it in a
// bounded queue; one thread writes, and the number of dropped lines is itself logged. Lines have fixed words,
// so that they can be searched for and counted, and fields for everything that varies. spdlog's own
// asynchronous logger was refused: when its queue is full it blocks the caller, or overwrites the oldest
// lines.

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/log/log_history.hpp"
#include "base/log/log_line.hpp"
#include "base/system/systemd.hpp"
#include "base/system/tally.hpp"
#include "base/text/words.hpp"

namespace plughost {

enum class LogFormat { kAuto, kJson };  // kAuto: the journal's own fields, or a terminal's colours
inline constexpr Word<LogFormat> kLogFormats[] = {{"auto", LogFormat::kAuto}, {"json", LogFormat::kJson}};

class Log {
 public:
  using Fields = LogFields;
  // At most kBurst lines with the same words are written per kBurstTime, so that a flapping device does not
  // drown other lines. The next such line that is written contains the number of suppressed lines.
  static constexpr unsigned kBurst = 1000;
  static constexpr std::chrono::seconds kBurstTime{10};

  // Writes to standard error, or to the journal if standard error is connected to it.
  Log(LogLevel level, LogFormat format, std::filesystem::path journal = kJournalSocket);
  ~Log();
  Log& operator=(Log&&) = delete;

  void configure(LogLevel level, LogFormat format);

  // Contains the lines of level info and above, even if the configured level is higher.
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
