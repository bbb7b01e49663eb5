#include "kubelet/dead_socket.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <random>
#include <stdexcept>
#include <string>

#include "base/kernel_limits.hpp"
#include "kubelet/unix_socket.hpp"

namespace plughost {

namespace {

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    default:
      return "a device";
  }
}

[[noreturn]] void throw_in_the_way(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + " is " + what +
                           ", and only a socket that nobody listens on is ever replaced: move it away, or "
                           "name another path");
}

bool somebody_listens(const std::filesystem::path& path) {
  try {
    connect_unix(path);
    return true;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::connection_refused) return false;
    // Its queue is full, or it is of another type.
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::wrong_protocol_type)
      return true;
    throw;
  }
}

[[noreturn]] void throw_answers(const std::filesystem::path& path) {
  throw std::runtime_error("another plughost answers on " + path.string());
}

// A name in the same directory that nothing has, and that is no longer than one of a socket may be.
std::filesystem::path beside(const std::filesystem::path& path) {
  const std::filesystem::path directory = path.parent_path();
  const std::size_t room =
      kLongestSocketPath - std::min(kLongestSocketPath - 1, directory.native().size() + 1);
  const std::string name = std::to_string(std::random_device()()) + ".plughost";
  return directory / name.substr(0, room);
}

void rename_to_free(const std::filesystem::path& from, const std::filesystem::path& to) {
  check(::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE),
        "rename " + from.string() + " to " + to.string());
}

}  // namespace

std::optional<DeadSocket> dead_socket(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_errno(path.string());
  }
  if (!S_ISSOCK(status.st_mode)) throw_in_the_way(path, kind_of(status.st_mode));
  if (somebody_listens(path)) throw_answers(path);
  return DeadSocket{status.st_dev, status.st_ino};
}

// What is looked at under a name that nobody else knows cannot become something else before it is removed.
void remove_dead_socket(const std::filesystem::path& path, const DeadSocket& dead) {
  const std::filesystem::path aside = beside(path);
  rename_to_free(path, aside);
  struct stat status {};
  check(::lstat(aside.c_str(), &status), aside.string());
  const bool the_same = status.st_dev == dead.device && status.st_ino == dead.inode;
  if (the_same && !somebody_listens(aside)) {
    check(::unlink(aside.c_str()), "unlink " + aside.string());
    return;
  }
  rename_to_free(aside, path);
  if (S_ISSOCK(status.st_mode)) throw_answers(path);
  throw_in_the_way(path, kind_of(status.st_mode));
}

void remove_dead_sockets(const std::filesystem::path& directory, std::string_view beginning) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(beginning)) continue;
    try {
      std::error_code ignored;
      if (dead_socket(entry->path())) std::filesystem::remove(entry->path(), ignored);
    } catch (const std::runtime_error&) {  // std::system_error among them
    }
  }
}

}  // namespace plughost
