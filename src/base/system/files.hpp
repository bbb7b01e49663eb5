#pragma once
// Files: written whole or not at all, held by one process, and the three that each program has; what the
// kernel allows of paths.

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/system/unique_fd.hpp"

namespace plughost {

enum class FileFor {
  kReaders,    // other users' programs may read it, whatever the umask is
  kOurselves,  // nobody else may, and it outlives a loss of power
};

// Whoever reads the file sees the old text or the new one. temporary: a path beside it that its readers do
// not look at; what lies there is removed. Throws std::system_error, and then the file is as it was.
void replace_file(const std::string& file, const std::string& temporary, std::string_view text,
                  FileFor whom = FileFor::kReaders);

// To be called before anything else. Whoever starts us may have closed descriptors 0, 1 and 2: they become
// /dev/null, lest the next file that is opened is taken for standard error.
void open_standard_files();

// All of the text into a file. Throws std::system_error; some of it may be written then.
inline void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

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

// Limits of the kernel that paths run into.

// As many symbolic links as the kernel follows in a path (MAXSYMLINKS).
inline constexpr int kMostLinks = 40;
// A socket's: sun_path holds 108 bytes with the final zero (unix(7)). A longer path fails in bind, when it is
// too late.
inline constexpr std::size_t kLongestSocketPath = 107;

}  // namespace plughost
