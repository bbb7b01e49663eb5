#pragma once
// A program to run, and how it ended. Plain values.

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/fields.hpp"
#include "base/text/template.hpp"
#include "model/device/device.hpp"

namespace plughost {

// Return the first or the last line of the output that is not blank, fit for a log and a pod's events; empty
// if there is no such line. Control characters become spaces, invalid UTF-8 becomes '?'. At most 200 bytes.
std::string first_line(std::string_view output);
std::string last_line(std::string_view output);

struct Program {
  static constexpr std::size_t kMostOutput = 64u << 10;
  static constexpr std::chrono::milliseconds kForEver = std::chrono::milliseconds::max();

  std::vector<std::string> command;           // the absolute path and the arguments; not empty
  std::vector<std::string> environment = {};  // "NAME=value"; these override the default environment
  std::string input;                          // standard input, followed by the end of file
  enum class Errors {
    kWithOutput,  // standard error goes to standard output
    kApart,       // standard error goes to Ending::errors
  };
  Errors errors = Errors::kWithOutput;
  std::chrono::milliseconds timeout = kForEver;
  enum class TimeoutFrom {
    kBegin,  // the timeout begins with the program's turn
    kNow,    // the timeout begins now, so that waiting for a turn counts
  };
  TimeoutFrom timeout_from = TimeoutFrom::kBegin;
  // If set, called with each line of output without its newline. Ending::output then has only the text after
  // the last newline, and most_output limits a line. Must not destroy the Subprocess.
  std::function<void(std::string_view line)> on_line;
  std::size_t most_output = kMostOutput;
  enum class Excess { kDiscarded, kFatal };  // what happens to output above the limit, or to the program
  Excess excess = Excess::kDiscarded;
};

struct Ending {
  enum class How {
    kExited,      // number: the exit status
    kSignalled,   // number: the signal
    kOverdue,     // the timeout has passed; the program has ended or will end
    kNotStarted,  // number: errno. The program cannot be run: it is missing, or not executable
    kHangs,       // not started, because too many instances of the program hang
    kNoMeans,     // number: errno. The machine lacked resources to start any program
    kUntold,      // another part of this process has received the exit status
  };
  How how = How::kExited;
  int number = 0;
  std::chrono::milliseconds timeout{0};
  std::string output;  // standard output, and standard error if it is not apart; any bytes
  std::string errors;
  bool excess = false;  // the output has exceeded Program::most_output
};

// The command lines of configured commands. Pure functions, thread-safe.

struct CommandLine {
  std::vector<std::string> words;  // empty if a value is missing
  std::string missing;             // the placeholder that has no value for the device
};

// Expands {resource}, {id} and the device's attributes in a command.
CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device);

// Returns the words to put in front of a command, so that the command runs as that user with the user's
// groups. Empty if `user` is empty.
std::vector<std::string> words_as(const std::string& user);
std::string read_user(Fields& fields);
// Reports a path that is not absolute, and a single text that looks like a command line. `words` is the value
// of the key: a program and its arguments.
void check_program(Fields& fields, std::string_view key, const std::vector<std::string>& words);

// Returns a program that prints a document, or one document per line: standard error is apart, and output
// above 4 MiB is fatal.
Program document_program(std::vector<std::string> command);

// The functions below make all sentences about how a program ended. Pure functions, thread-safe.

// How messages refer to a program.
struct Spoken {
  std::string_view what = "the program";  // "the health check"
  std::string_view path{};  // the program's file, named if it cannot be started; empty: not named
  // Where the program explains a failure. kWithOutput: the first line of output is the message. kApart: the
  // last line of standard error is appended.
  Program::Errors words = Program::Errors::kApart;
  std::string_view late = " after ";  // as in "the program was killed after 5 s"
};

// Returns why the program failed; empty if it exited with 0. One line of valid UTF-8, with at most 200 bytes
// of the program's own text.
std::string why_failed(const Spoken& spoken, const Ending& ending);

// Returns ": " and the last line of standard error; empty if there is none.
std::string last_words(std::string_view errors);

// Returns "20 s" or "250 ms".
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace plughost
