#pragma once
// The daemon under measurement, as a process of its own.

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace plughost::bench {

// What /proc says of a process, in kB.
struct Memory {
  double resident = 0;   // Rss
  double anonymous = 0;  // RssAnon: nobody else's, and not a file's
  double most = 0;       // VmHWM: the highest Rss so far
};

class Child {
 public:
  // plughost run --config config, its log into config's directory. Throws std::system_error.
  explicit Child(const std::filesystem::path& config, const std::filesystem::path& plugin_directory);
  // SIGTERM, and waits.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  Memory memory() const;
  double cpu_ms() const;               // used so far, user and system
  unsigned long long wakeups() const;  // voluntary context switches of all threads so far
  std::size_t threads() const;
  std::size_t descriptors() const;  // that are open

 private:
  pid_t pid_ = -1;
};

}  // namespace plughost::bench
