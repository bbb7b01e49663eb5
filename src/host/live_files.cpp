#include "host/live_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "host/file_text.hpp"

namespace plughost {
namespace {

FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return FileType::kDirectory;
    case S_IFREG:
      return FileType::kRegular;
    case S_IFLNK:
      return FileType::kLink;
    case S_IFCHR:
      return FileType::kCharacter;
    case S_IFBLK:
      return FileType::kBlock;
    case S_IFSOCK:
      return FileType::kSocket;
    case S_IFIFO:
      return FileType::kFifo;
    default:
      return FileType::kOther;
  }
}

// What readdir told is enough where it told something: a hundred thousand files are not asked one by one.
FileType type_of(const dirent& entry, int directory) {
  if (entry.d_type != DT_UNKNOWN) return type_of(static_cast<mode_t>(DTTOIF(entry.d_type)));
  struct stat status {};
  if (::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return FileType::kNothing;
  return type_of(status.st_mode);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::error_code list_directory(const std::string& path, const MachineFiles::Entry& take) {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return {errno, std::generic_category()};
  errno = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") take(name, type_of(*entry, ::dirfd(directory.get())));
    errno = 0;
  }
  return {errno, std::generic_category()};
}

// Without links; empty: there is nothing.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> found(::realpath(path.c_str(), nullptr), &std::free);
  return found ? found.get() : "";
}

}  // namespace

FileType LiveFiles::type(const std::string& path, LastLink last) const {
  struct stat status {};
  const int flags = last == LastLink::kKeep ? AT_SYMLINK_NOFOLLOW : 0;
  return ::fstatat(AT_FDCWD, real(path).c_str(), &status, flags) == 0 ? type_of(status.st_mode)
                                                                      : FileType::kNothing;
}

std::optional<std::string> LiveFiles::text(const std::string& path, std::size_t most) const {
  return file_text(real(path), most);
}

std::optional<std::string> LiveFiles::link_target(const std::string& path) const {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(real(path).c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::optional<std::string> LiveFiles::canonical(const std::string& path) const {
  std::string found = real_path(real(path));
  if (found.empty()) return std::nullopt;
  if (prefix_.empty()) return found;
  const std::string prefix = real_path(prefix_);
  if (found == prefix) return "/";
  return found.starts_with(prefix + '/') ? found.substr(prefix.size()) : found;
}

std::optional<std::string> LiveFiles::device_number(const std::string& path) const {
  struct stat status {};
  if (::stat(real(path).c_str(), &status) != 0 || !is_device_node(type_of(status.st_mode)))
    return std::nullopt;
  return std::to_string(major(status.st_rdev)) + ':' + std::to_string(minor(status.st_rdev));
}

std::error_code LiveFiles::list(const std::string& directory, const Entry& entry) const {
  return list_directory(real(directory), entry);
}

}  // namespace plughost
