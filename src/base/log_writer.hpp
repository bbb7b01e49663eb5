#pragma once
// Writes the lines of the log, on a thread of its own: a pipe that nobody empties, a journal that does not
// read and a disk that hangs hold that thread and nobody else. Thread-safe.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/journal.hpp"
#include "base/log_form.hpp"

namespace plughost {

class LogWriter {
 public:
  // How long ~LogWriter waits for the lines that are not written yet.
  static constexpr std::chrono::milliseconds kLastDeadline{500};
  // The line that says how many are missing where it stands. Called on the thread, which may outlive the
  // writer: it owns what it uses.
  using Notice = std::function<LogLine(std::size_t left_out)>;

  LogWriter(std::optional<Journal> journal, Notice notice);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Never waits. What finds no room is counted, and told by a notice as soon as there is room again.
  void write(LogLine line);

 private:
  struct State;
  static void work(State& state);
  void start_thread_if_needed();

  std::shared_ptr<State> state_;
};

}  // namespace plughost
