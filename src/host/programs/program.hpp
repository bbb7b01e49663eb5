#pragma once
// A program that is to run beside us, and how it ended. Plain values.

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

// The first, or the last, line of what a program printed with something on it, fit for a log and for a pod's
// events; empty if there is none. Control characters become
// spaces, and what is not UTF-8 '?'. At most 200 bytes.
std::string first_line(std::string_view output);
std::string last_line(std::string_view output);

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

// What is run of a command of the configuration. Pure functions, thread-safe.

struct CommandLine {
  std::vector<std::string> words;  // empty if something is missing
  std::string missing;             // the placeholder that the device has no value for
};

// The command with {resource}, {id} and the device's attributes in their places.
CommandLine command_line(std::span<const Template> command, const std::string& resource,
                         const Device& device);

// What goes before a command that is to run as that user, with the user's groups. Empty if user is: as ours.
std::vector<std::string> words_as(const std::string& user);
// The key `user`.
std::string read_user(Fields& fields);

// One that prints a document, or a line of it at a time: standard error is apart, and more than 4 MiB are too
// much.
Program document_program(std::vector<std::string> command);

// The one maker of sentences of how a program ended. Pure functions, thread-safe.

// How a program is spoken of.
struct Spoken {
  std::string_view what = "the program";  // "the health check"
  // Where it says what is wrong. With its output: the first line is all that is told. Apart: the last line of
  // its standard error comes after the sentence.
  Program::Errors words = Program::Errors::kApart;
  std::string_view late = " after ";  // "the program was killed", this, "5 s"
};

// Why the program did not do what it was to do; empty: it ended by itself with 0. Valid UTF-8 on one line,
// with at most 200 bytes of its own words.
std::string why_failed(const Spoken& spoken, const Ending& ending);

// ": " and the last line of what it wrote to standard error; empty if there is none.
std::string last_words(std::string_view errors);

// "20 s", "250 ms".
std::string duration_text(std::chrono::milliseconds duration);

}  // namespace plughost
