#pragma once
// A program that runs beside us, to its end. Loop thread only.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.hpp"

namespace plughost {

// What is to run, and what of it is kept.
struct Program {
  static constexpr std::size_t kMostOutput = 64u << 10;

  std::vector<std::string> command;  // the absolute path, and the arguments; not empty
  std::string input;                 // what it reads; then, or if this is empty: the end of a file
  enum class Errors {
    kWithOutput,  // standard error is standard output
    kApart,       // Result::errors
  };
  Errors errors = Errors::kWithOutput;
  // Called with each line that it writes, without the newline, in the place of Result::output, which is then
  // what comes after the last newline. Must not destroy the Subprocess. most_output is a line's.
  std::function<void(std::string_view line)> on_line;
  std::size_t most_output = kMostOutput;
  enum class Excess { kDiscarded, kFatal };  // what becomes of more output, or of the program then
  Excess excess = Excess::kDiscarded;
};

class Subprocess {
 public:
  static constexpr EventLoop::Clock::duration kForEver = EventLoop::Clock::duration::max();
  // What is kept of standard error where it is apart: its end.
  static constexpr std::size_t kMostErrors = 4u << 10;

  struct Result {
    enum class End {
      kExited,      // number: its exit status
      kSignalled,   // number: the signal
      kNotStarted,  // number: the errno
    };
    End end = End::kExited;
    int number = 0;
    std::string output;  // standard output, and standard error if it is not apart; any bytes
    std::string errors;
    bool excess = false;  // it has written more than is kept
  };

  // It has a small environment of its own (PATH and LANG), no descriptor but the standard ones, no signal
  // blocked, and a process group of its own. When it ends, what it has left in its group is killed, and done
  // is called. When it has run for longer than deadline, its group is killed and overdue is called; done
  // still is, should it end: what waits for hardware cannot be killed. Both come in the loop, after the
  // constructor, and may destroy this. deadline may be kForEver. Waits until the program has begun: it must
  // be on a file system that answers.
  Subprocess(EventLoop& loop, const Program& program, EventLoop::Clock::duration deadline,
             std::function<void(Result)> done, std::function<void()> overdue);
  // Kills what still runs, and waits for the end of that for a moment.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // From now on it may run for so long.
  void extend(EventLoop::Clock::duration deadline);
  // The end of what it has written to standard error, where that is apart.
  const std::string& errors() const { return result_.errors; }

 private:
  void start(const Program& program);
  void kill_group() const;
  bool reap();  // false: it runs
  void read_output();
  void watch_output();
  void keep(std::string_view text);
  void take_lines(std::string_view text);
  void read_errors();
  void on_exit();
  void on_timer();

  EventLoop& loop_;
  std::function<void(Result)> done_;
  std::function<void()> overdue_;
  std::function<void(std::string_view)> on_line_;
  std::size_t most_output_;
  Program::Excess excess_;
  Result result_;
  pid_t pid_ = 0;  // 0: there is none, or it was reaped
  UniqueFd process_;
  UniqueFd output_;
  UniqueFd errors_;
  std::optional<IoWatch> process_watch_;
  std::optional<IoWatch> output_watch_;
  std::optional<IoWatch> errors_watch_;
  EventLoop::Clock::time_point killed_{};  // at its deadline
  Timer pause_;                            // between two reads of one that writes without end
  Timer timer_;                            // the deadline; without a process: to tell of it later
};

}  // namespace plughost
