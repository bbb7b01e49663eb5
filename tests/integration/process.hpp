#pragma once
// A child process, and what it writes, line by line.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/system/unique_fd.hpp"
#include "places.hpp"

namespace plughost::test {

// Thread-safe, but for the constructor and the destructor. Standard output and standard error are read as one
// stream.
class Process {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // arguments: what follows the program's name. environment: "NAME=value", beside this process's own.
  // wrapper: a command that executes the program, such as {"prlimit", "--nofile=64"}; its process becomes the
  // program's. Throws std::system_error.
  explicit Process(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {},
                   const std::vector<std::string>& wrapper = {}, const char* program = kPlughost);
  // Kills it if it still runs.
  ~Process();
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit code; 128 + the signal's number if one ended it. nullopt: it still runs. All output has been
  // read by then.
  std::optional<int> wait_for_exit(Milliseconds deadline);
  bool running() { return !wait_for_exit(Milliseconds(0)); }

  std::vector<std::string> lines() const;
  std::string output() const;
  // Lines so far: where a later search can begin.
  std::size_t mark() const;
  // Waits for a line, from the given one on, that has all the parts in it, whatever their order. False: none
  // came.
  bool wait_for_line(const std::vector<std::string_view>& parts, Milliseconds deadline,
                     std::size_t from = 0) const;
  // Lines from the given one on with the part in them.
  std::size_t count_lines(std::string_view part, std::size_t from = 0) const;
  // Waits until there are so many: a line stands a moment after what it tells. false: fewer came, or there
  // are more.
  bool comes_to_lines(std::string_view part, std::size_t count) const;

  std::size_t open_descriptors() const;
  std::size_t resident_kilobytes() const;
  // Processor time used so far.
  Milliseconds processor_time() const;

 private:
  void read_output();
  std::size_t count_locked(std::string_view part, std::size_t from) const;

  pid_t pid_ = -1;
  UniqueFd output_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
  bool closed_ = false;
  std::optional<int> exit_code_;
  std::thread reader_;
};

// Runs the program to its end.
struct Finished {
  int exit_code = -1;  // -1: it did not end in time
  std::string output;
};
Finished run_plughost(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& wrapper = {});

}  // namespace plughost::test
