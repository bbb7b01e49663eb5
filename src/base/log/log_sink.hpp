#pragma once
// spdlog's sink that never waits: lines are written on a thread of its own, and a pipe that nobody empties, a
// journal that does not read and a disk that hangs hold that thread and nobody else. Thread-safe.

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

// How a line of the log looks, by whom it is read.
enum class LogForm {
  kText,     // for people: a time of the machine's own, the level, the words and the fields
  kColours,  // the same on a terminal
  kJson,     // an object a line
  kJournal,  // sd-daemon(3)'s for standard error; and behind a null the journal's datagram, which is asked
             // first
};

// Formats what packed() made. For one thread at a time.
std::unique_ptr<spdlog::formatter> formatter_of(LogForm form);

class LogSink final : public spdlog::sinks::sink {
 public:
  // How long ~LogSink waits for the lines that are not written yet.
  static constexpr std::chrono::milliseconds kLastDeadline{500};

  // Writes to standard error, and what its formatter has for a journal there.
  LogSink(std::optional<Journal> journal, std::unique_ptr<spdlog::formatter> formatter);
  ~LogSink() override;
  LogSink& operator=(LogSink&&) = delete;

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

// Lines of the log that wait to be written: so many, and no more. A value.

class LogQueue {
 public:
  // A restart of the kubelet is some hundred bytes for each resource.
  static constexpr std::size_t kMostBytes = 1 << 20;

  // Without room the line is left out, and so are those after it until half of the queue is free: they are
  // one gap, and are told as one.
  void push(std::string line) {
    full_ = full_ ? bytes_ > kMostBytes / 2 : bytes_ >= kMostBytes;
    if (full_) {
      ++left_out_;
      return;
    }
    bytes_ += line.size();
    lines_.push_back({std::move(line), std::exchange(left_out_, 0)});
  }

  struct Next {
    std::size_t left_out = 0;         // lines that are missing here
    std::optional<std::string> line;  // what comes after them; nullopt: nothing has come yet
  };
  // What is to be written next; nullopt: nothing.
  std::optional<Next> pop() {
    if (lines_.empty()) {
      if (left_out_ == 0) return std::nullopt;
      return Next{std::exchange(left_out_, 0), std::nullopt};
    }
    Waiting first = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= first.line.size();
    return Next{first.left_out, std::move(first.line)};
  }

  bool empty() const { return lines_.empty() && left_out_ == 0; }

 private:
  struct Waiting {
    std::string line;
    std::size_t left_out;  // before it
  };
  std::deque<Waiting> lines_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;  // after all of them
  bool full_ = false;
};

}  // namespace plughost
