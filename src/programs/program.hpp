#pragma once
// A program that is to run beside us, and how it ended. Plain values.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// What is to run, for how long, and what of it is kept.
struct Program {
  static constexpr std::size_t kMostOutput = 64u << 10;
  static constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();

  std::vector<std::string> command;           // the absolute path, and the arguments; not empty
  std::vector<std::string> environment = {};  // "NAME=value", which win over what each program has
  std::string input;                          // what it reads; then, or if this is empty: the end of a file
  enum class Errors {
    kWithOutput,  // standard error is standard output
    kApart,       // Ending::errors
  };
  Errors errors = Errors::kWithOutput;
  std::chrono::milliseconds timeout = kForEver;
  enum class TimeoutFrom {
    kBegin,  // when it is its turn
    kNow,    // the time that it waits for its turn counts, too
  };
  TimeoutFrom timeout_from = TimeoutFrom::kBegin;
  // Called with each line that it writes, without the newline, in the place of Ending::output, which is then
  // what comes after the last newline. Must not destroy the Subprocess. most_output is a line's.
  std::function<void(std::string_view line)> on_line;
  std::size_t most_output = kMostOutput;
  enum class Excess { kDiscarded, kFatal };  // what becomes of more output, or of the program then
  Excess excess = Excess::kDiscarded;
};

struct Ending {
  enum class How {
    kExited,      // number: its exit status
    kSignalled,   // number: the signal
    kOverdue,     // its end began after `timeout`, and has come or will
    kNotStarted,  // number: the errno. It cannot be run: it is not there, or is no program
    kHangs,       // so many of it hang that it was not started
    kNoMeans,     // number: the errno. The machine had nothing to start it with, whatever it is
    kUntold,      // somebody else in this process has been told how
  };
  How how = How::kExited;
  int number = 0;
  std::chrono::milliseconds timeout{0};
  std::string output;  // standard output, and standard error if it is not apart; any bytes
  std::string errors;
  bool excess = false;  // it has written more than is kept
};

}  // namespace plughost
