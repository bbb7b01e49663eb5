#pragma once
// A child process and its output by lines.

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
#include "unit/texts.hpp"

namespace plughost::test {

// Thread-safe, except construction and destruction. Reads standard output and standard error as one stream.
class Process {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // `arguments` follow the program's name. `environment` has "NAME=value" in addition to this process's own.
  // `wrapper` is a command that executes the program, such as {"prlimit", "--nofile=64"}; the wrapper's
  // process becomes the program's. Throws std::system_error.
  explicit Process(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {},
                   const std::vector<std::string>& wrapper = {}, const char* program = kPlughost);
  // Kills the process if it still runs.
  ~Process();
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Returns the exit code, or 128 + the signal that ended the process; nullopt if the process still runs.
  // When the process has ended, all of its output has been read.
  std::optional<int> wait_for_exit(Milliseconds deadline);
  bool running() { return !wait_for_exit(Milliseconds(0)); }

  std::vector<std::string> lines() const;
  std::string output() const;
  // Returns the number of lines so far, from which a search can begin.
  std::size_t mark() const;
  // Waits for a line from `from` on that contains all parts in any order. Returns false if there is none in
  // time.
  bool wait_for_line(const std::vector<std::string_view>& parts, Milliseconds deadline,
                     std::size_t from = 0) const;
  // Returns the number of lines from `from` on that contain the part.
  std::size_t count_lines(std::string_view part, std::size_t from = 0) const;
  // Waits until `count` lines contain the part, because the log is written shortly after the event. Returns
  // false if fewer or more lines contain it.
  bool comes_to_lines(std::string_view part, std::size_t count) const;

  std::size_t open_descriptors() const;
  std::size_t resident_kilobytes() const;
  // Returns the processor time used so far.
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

// The result of a program that has ended.
struct Finished {
  int exit_code = -1;  // -1: did not end in time
  std::string output;
};
inline bool has(const Finished& finished, std::string_view part) { return has(finished.output, part); }
Finished run_plughost(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& wrapper = {});

// Skips the test where mounts are forbidden, even for root, as in a container or a plain chroot.
void need_mounts();
// Returns the beginning of a command that runs a shell script, and then the rest of the command, in a mount
// namespace of its own. {} in the script is replaced by the directory.
std::vector<std::string> mounted(std::string script, const std::string& directory = {});

}  // namespace plughost::test
