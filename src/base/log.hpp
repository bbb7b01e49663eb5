#pragma once
// One line per change of state: fixed words plus fields. Thread-safe.

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace plughost {

// kError: somebody must act.
enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kAuto, kJson };  // auto: the journal's priorities or a terminal's colours

struct LogField {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  // Writes to standard error.
  Log(LogLevel level, LogFormat format);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void configure(LogLevel level, LogFormat format);

  void debug(std::string_view words, Fields fields = {}) { write(LogLevel::kDebug, words, fields); }
  void info(std::string_view words, Fields fields = {}) { write(LogLevel::kInfo, words, fields); }
  void warn(std::string_view words, Fields fields = {}) { write(LogLevel::kWarn, words, fields); }
  void error(std::string_view words, Fields fields = {}) { write(LogLevel::kError, words, fields); }

 private:
  void write(LogLevel level, std::string_view words, Fields fields);

  struct Sink;
  std::unique_ptr<Sink> sink_;
};

}  // namespace plughost
