#pragma once
// A program whose start stalls, like that of a program on an unreachable file server. This needs no root,
// because the execution of a file waits while another process holds a lease on the file. Not thread-safe.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

// The start stalls until give_back(), for at most the seconds in /proc/sys/fs/lease-break-time.
class LeasedProgram {
 public:
  explicit LeasedProgram(const std::filesystem::path& path)
      : path_(path), former_(::signal(SIGIO, SIG_IGN)) {  // SIGIO must not end this process
    std::ofstream(path) << "#!/bin/sh\nexit 0\n";
    check(::chmod(path_.c_str(), 0755), "chmod");
    file_ = UniqueFd{check(::open(path_.c_str(), O_RDONLY | O_CLOEXEC), "open")};
    check(::fcntl(file_.get(), F_SETLEASE, F_WRLCK), "F_SETLEASE");
  }
  ~LeasedProgram() {
    give_back();
    ::signal(SIGIO, former_);
  }
  LeasedProgram& operator=(LeasedProgram&&) = delete;

  const std::string& path() const { return path_; }
  void give_back() { file_ = UniqueFd(); }

 private:
  std::string path_;
  void (*former_)(int);
  UniqueFd file_;
};

}  // namespace plughost::test
