#pragma once
// A sink for spdlog that never blocks its caller. A separate thread writes the lines, so that a full pipe, a
// journal that does not read and a hanging disk block only that thread. Thread-safe.

#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log/log_line.hpp"
#include "base/system/systemd.hpp"

namespace plughost {

enum class LogForm {
  kText,     // for people: local time, level, words and fields
  kColours,  // as kText, with a terminal's colours
  kJson,     // one JSON object per line
  kJournal,  // sd-daemon(3)'s format, a null character, and the journal's datagram; the former is written
             // to standard error only if the datagram cannot be sent
};

// Returns a formatter for packed() texts. The formatter is not thread-safe.
std::unique_ptr<spdlog::formatter> formatter_of(LogForm form);

class LogSink final : public spdlog::sinks::sink {
 public:
  // How long the destructor waits for unwritten lines.
  static constexpr std::chrono::milliseconds kLastDeadline{500};

  // Writes to `journal` if it is set, and otherwise to standard error.
  LogSink(std::optional<Journal> journal, std::unique_ptr<spdlog::formatter> formatter);
  ~LogSink() override;
  LogSink& operator=(LogSink&&) = delete;

  // Drops the line if the queue is full. Once there is room again, a line reports how many were dropped.
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

// The bounded queue of lines that wait to be written. A value.
class LogQueue {
 public:
  // A restart of the kubelet produces some hundred bytes for each resource.
  static constexpr std::size_t kMostBytes = 1 << 20;

  // Drops the line if there is no room, and all further lines until half of the queue is free, so that they
  // form one gap.
  void push(std::string line) {
    full_ = full_ ? bytes_ > kMostBytes / 2 : bytes_ >= kMostBytes;
    if (full_) {
      ++left_out_;
      return;
    }
    bytes_ += line.size();
    lines_.push_back({std::exchange(left_out_, 0), std::move(line)});
  }

  struct Next {
    std::size_t left_out = 0;         // number of lines that were dropped before `line`
    std::optional<std::string> line;  // nullopt: no line was added after the dropped lines
  };
  // Returns the next line or gap to be written; nullopt if the queue is empty.
  std::optional<Next> pop() {
    if (empty()) return std::nullopt;
    if (lines_.empty()) return Next{std::exchange(left_out_, 0), std::nullopt};
    Next first = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= first.line->size();
    return first;
  }

  bool empty() const { return lines_.empty() && left_out_ == 0; }

 private:
  std::deque<Next> lines_;  // each has a line
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;  // number of lines that were dropped after the last of lines_
  bool full_ = false;
};

}  // namespace plughost
