#pragma once
// Prevents this process from opening further file descriptors. Not thread-safe.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    check(::getrlimit(RLIMIT_NOFILE, &former_), "getrlimit");
    const UniqueFd lowest{check(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "fcntl")};
    const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest.get()), .rlim_max = former_.rlim_max};
    check(::setrlimit(RLIMIT_NOFILE, &none), "setrlimit");
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &former_); }
  NoDescriptors& operator=(NoDescriptors&&) = delete;

 private:
  rlimit former_{};
};

}  // namespace plughost::test
