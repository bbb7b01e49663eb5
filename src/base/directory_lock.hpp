#pragma once
// One process per directory. Loop thread only.

#include <sys/types.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/unique_fd.hpp"

namespace plughost {

// Somebody else holds the directory. what() says who, as far as /proc tells.
struct DirectoryHeld : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An flock(2) on the directory itself: it ends with the process, and the kubelet, which empties the directory
// when it starts, cannot remove it.
class DirectoryLock {
 public:
  // Throws DirectoryHeld, or std::system_error if there is no such directory.
  explicit DirectoryLock(const std::filesystem::path& directory);

  // Is what the path names now still the directory that is locked?
  bool still_at(const std::filesystem::path& directory) const;

 private:
  UniqueFd fd_;
};

}  // namespace plughost
