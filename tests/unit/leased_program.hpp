#pragma once
// A program whose start stalls, like one on an unreachable server. Needs no root: executing a file waits
// while another process holds a lease on it. Not thread-safe.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

// Lasts until give_back(), for at most /proc/sys/fs/lease-break-time.
class LeasedProgram {
 public:
  explicit LeasedProgram(const std::filesystem::path& path)
      : path_(path), former_(::signal(SIGIO, SIG_IGN)) {  // a request for the file must not end the process
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
