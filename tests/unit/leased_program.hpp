#pragma once
// A program whose start hangs, as one does that lies on a server that is gone. Needs no root: whoever
// executes a file on which another has a lease waits for that. Not thread-safe.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

// From the constructor to give_back(), for up to /proc/sys/fs/lease-break-time.
class LeasedProgram {
 public:
  explicit LeasedProgram(const std::filesystem::path& path)
      : path_(path), former_(::signal(SIGIO, SIG_IGN)) {  // that somebody wants it is no reason
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
