#include "supervisor/drain_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "host/machine_files.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// A node has some hundred devices, and a drain has some hundred bytes.
constexpr std::size_t kMostBytes = 16u << 20;
constexpr int kMostBroken = 100;

void sync_directory(const fs::path& directory) {
  const UniqueFd fd{check(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open")};
  check(::fsync(fd.get()), "fsync");
}

// Whoever reads it, and whenever the machine stops, there is the old text or the new one.
void replace(const fs::path& file, const std::string& text) {
  const fs::path temporary = file.string() + ".tmp";
  ::unlink(temporary.c_str());
  {
    const UniqueFd fd{
        check(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), "open")};
    write_all(fd.get(), text);
    check(::fsync(fd.get()), "fsync");
  }
  fs::rename(temporary, file);
  sync_directory(file.parent_path());
}

}  // namespace

Drains::Parsed DrainFile::read() {
  errno = 0;
  const std::optional<std::string> text = file_text(path_, kMostBytes);
  const std::error_code error(errno, std::generic_category());
  if (!text && error == std::errc::no_such_file_or_directory) return {};
  Drains::Parsed parsed;
  if (!text)
    parsed.troubles = {error.message()};
  else if (text->size() >= kMostBytes)
    parsed.troubles = {"it is larger than " + std::to_string(kMostBytes >> 20) + " MiB"};
  else
    parsed = Drains::parse(*text);
  if (parsed.troubles.empty()) return parsed;
  broken_ = true;
  try {
    parsed.troubles.push_back("the file is kept as " + set_aside().string());
  } catch (const std::system_error& failure) {
    parsed.troubles.push_back("the file cannot be set aside: " + failure.code().message());
  }
  return parsed;
}

fs::path DrainFile::set_aside() {
  fs::path aside = path_.string() + ".broken";
  for (int n = 2; n <= kMostBroken && fs::exists(aside); ++n)
    aside = path_.string() + ".broken-" + std::to_string(n);
  int renamed = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE);
  // Not every file system can promise that.
  if (renamed < 0 && errno == EINVAL && !fs::exists(aside)) renamed = ::rename(path_.c_str(), aside.c_str());
  check(renamed, "rename");
  broken_ = false;
  return aside;
}

std::string DrainFile::write(const std::string& text) {
  try {
    if (!fs::exists(path_.parent_path())) {
      fs::create_directories(path_.parent_path());
      fs::permissions(path_.parent_path(), fs::perms(0700));
    }
    if (broken_) set_aside();
    replace(path_, text);
    return {};
  } catch (const std::system_error& error) {
    return path_.string() + " cannot be written: " + error.code().message();
  }
}

}  // namespace plughost
