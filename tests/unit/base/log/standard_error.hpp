#pragma once
// Redirects standard error temporarily.

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "base/system/unique_fd.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

class StandardErrorTo {
 public:
  explicit StandardErrorTo(const UniqueFd& fd) : before_(check(::dup(STDERR_FILENO), "dup")) {
    check(::dup2(fd.get(), STDERR_FILENO), "dup2");
  }
  ~StandardErrorTo() { ::dup2(before_.get(), STDERR_FILENO); }
  StandardErrorTo& operator=(StandardErrorTo&&) = delete;

 private:
  UniqueFd before_;
};

// Runs `act`, and returns what it has written to standard error.
inline std::string written(const std::function<void()>& act) {
  const TempDir dir;
  {
    const UniqueFd file(check(::open(dir.at("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "open"));
    const StandardErrorTo redirected(file);
    act();
  }
  std::ifstream file(dir.at("log"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace plughost::test
