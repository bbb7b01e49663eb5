#pragma once
// Files: atomic replacement, directory locks, standard files, and the kernel's limits for paths.

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
  kReaders,    // programs of other users can read it, whatever the umask is
  kOurselves,  // only this user can read it, and it survives a power loss
};

// Replaces a file: readers see either the old or the new text. temporary: a path in the same directory that
// no reader uses; a file of that name is removed. Throws std::system_error and leaves the file unchanged.
void replace_file(const std::string& file, const std::string& temporary, std::string_view text,
                  FileFor whom = FileFor::kReaders);

// Opens /dev/null as file descriptors 0, 1 and 2 if they are closed; otherwise the next opened file would
// become standard error. Must be called before any file is opened.
void open_standard_files();

// Writes the whole text. If it throws std::system_error, a part of the text may have been written.
inline void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Thrown if another process holds the directory's lock. what() names that process as far as /proc shows it.
struct DirectoryHeld : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Holds an flock(2) on the directory itself: the lock ends with the process, and the kubelet, which empties
// the directory when it starts, cannot remove it.
class DirectoryLock {
 public:
  // Throws DirectoryHeld, or std::system_error if the directory is missing.
  explicit DirectoryLock(const std::filesystem::path& directory);

  // Returns true if the path still leads to the locked directory.
  bool still_at(const std::filesystem::path& directory) const;

 private:
  UniqueFd fd_;
};

// The number of symbolic links that the kernel follows in a path (MAXSYMLINKS).
inline constexpr int kMostLinks = 40;
// The longest path of a socket: sun_path holds 108 bytes with the final zero (unix(7)). bind(2) would refuse
// a longer path too late.
inline constexpr std::size_t kLongestSocketPath = 107;

}  // namespace plughost
