#pragma once
// spdlog's sink that never waits: lines are written on a thread of its own, and a pipe that nobody empties, a
// journal that does not read and a disk that hangs hold that thread and nobody else. Thread-safe.

#include <spdlog/sinks/sink.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/journal.hpp"

namespace plughost {

class LogSink final : public spdlog::sinks::sink {
 public:
  // How long ~LogSink waits for the lines that are not written yet.
  static constexpr std::chrono::milliseconds kLastDeadline{500};

  // Writes to standard error, and what its formatter has for a journal there.
  LogSink(std::optional<Journal> journal, std::unique_ptr<spdlog::formatter> formatter);
  ~LogSink() override;
  LogSink(const LogSink&) = delete;
  LogSink& operator=(const LogSink&) = delete;

  // What finds no room is counted, and told by a line where it is missing, as soon as there is room again.
  void log(const spdlog::details::log_msg& line) override;
  void flush() override {}
  void set_pattern(const std::string& pattern) override;
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override;

 private:
  struct State;
  static void work(State& state);
  void start_thread_if_needed();

  std::shared_ptr<State> state_;
};

}  // namespace plughost
