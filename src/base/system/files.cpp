#include "base/system/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <system_error>

namespace plughost {

void replace_file(const std::string& file, const std::string& temporary, std::string_view text,
                  FileFor whom) {
  const bool for_readers = whom == FileFor::kReaders;
  // A file of that name is never written to: it may be a link to another user's file.
  ::unlink(temporary.c_str());
  const UniqueFd fd{
      check(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), "open")};
  try {
    if (for_readers) check(::fchmod(fd.get(), 0644), "fchmod");
    write_all(fd.get(), text);
    if (!for_readers) check(::fsync(fd.get()), "fsync");
    check(::rename(temporary.c_str(), file.c_str()), "rename");
    if (for_readers) return;
    const std::string directory = std::filesystem::path(file).parent_path();
    const UniqueFd above{check(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open")};
    check(::fsync(above.get()), "fsync");
  } catch (const std::system_error&) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void open_standard_files() {
  for (;;) {
    int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0) fd = ::open("/", O_RDONLY | O_DIRECTORY);  // '/' needs no device, and exists without /dev
    if (fd > STDERR_FILENO) ::close(fd);
    if (fd < 0 || fd > STDERR_FILENO) return;
  }
}

namespace {

// Finds the lock's holder in /proc/locks (proc(5)): "1: FLOCK  ADVISORY  WRITE 708 08:02:1234 0 EOF".
std::string holder_of(const struct stat& directory) {
  char place[64];
  std::snprintf(place, sizeof place, " %02x:%02x:%llu ", ::major(directory.st_dev), ::minor(directory.st_dev),
                static_cast<unsigned long long>(directory.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    const std::size_t at = line.find(place);
    if (line.find("FLOCK") == std::string::npos || at == std::string::npos) continue;
    const std::string pid = line.substr(line.rfind(' ', at - 1) + 1, at - line.rfind(' ', at - 1) - 1);
    std::ifstream comm("/proc/" + pid + "/comm");
    std::string name;
    std::getline(comm, name);
    return "process " + pid + (name.empty() ? "" : " (" + name + ")");
  }
  return "another process";
}

}  // namespace

DirectoryLock::DirectoryLock(const std::filesystem::path& directory)
    : fd_(check(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                "open " + directory.string())) {
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw_errno("lock " + directory.string());
  struct stat status {};
  check(::fstat(fd_.get(), &status), "fstat");
  throw DirectoryHeld(directory.string() + " is served by " + holder_of(status) +
                      " already: stop it, or give this one a different --plugin-directory");
}

bool DirectoryLock::still_at(const std::filesystem::path& directory) const {
  struct stat locked {};
  struct stat named {};
  return ::fstat(fd_.get(), &locked) == 0 && ::stat(directory.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace plughost
