#pragma once
// Runs the measured daemon as a child process.

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace plughost::bench {

// Values from /proc/PID/status, in kB.
struct Memory {
  double resident = 0;   // VmRSS
  double anonymous = 0;  // RssAnon: neither shared nor backed by a file
  double most = 0;       // VmHWM: the highest VmRSS so far
};

class Child {
 public:
  // Runs `plughost run --config CONFIG` with its log in the directory of `config`. Throws std::system_error.
  explicit Child(const std::filesystem::path& config, const std::filesystem::path& plugin_directory);
  // Sends SIGTERM and waits for the process.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  Memory memory() const;
  double cpu_ms() const;               // used so far, user and system
  unsigned long long wakeups() const;  // voluntary context switches of all threads so far
  std::size_t threads() const;
  std::size_t descriptors() const;  // number of open ones

 private:
  pid_t pid_ = -1;
};

}  // namespace plughost::bench
