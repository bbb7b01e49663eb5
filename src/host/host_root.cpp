#include "host/host_root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "base/kernel_limits.hpp"
#include "host/recorded_machine.hpp"
#include "host/sysfs.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

bool is_pattern(const std::string& component) {
  return component.find_first_of("*?[") != std::string::npos;
}

// The fnmatch pattern that matches just this name.
std::string escape(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

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

std::error_code list_directory(const std::string& path, const HostRoot::Entry& take) {
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

class Walk {
 public:
  // Both outlive the walk.
  Walk(const HostRoot& host, const std::string& pattern) : host_(host), pattern_(pattern) {}

  // base: a directory's path without the final '/', so "" is the root.
  void descend(std::string base, std::span<const std::string> components) {
    if (++directories_ > HostRoot::kMostDirectories) return;
    while (components.size() > 1 && !is_pattern(components.front())) {
      base += '/' + components.front();
      components = components.subspan(1);
    }
    const std::string& component = components.front();
    const bool last = components.size() == 1;
    const std::string directory = base.empty() ? "/" : base;
    if (!is_pattern(component)) {
      watch(directory, escape(component));
      const std::string path = base + '/' + component;
      if (host_.own_type(path) == FileType::kLink) watch_targets(path);
      return take_existing(path);
    }
    watch(directory, component);

    std::vector<std::string> subdirectories;
    const auto take = [&](std::string_view each, FileType type) {
      const std::string name(each);
      if (::fnmatch(component.c_str(), name.c_str(), 0) != 0) return;
      std::string path = base + '/' + name;
      const bool is_link = type == FileType::kLink;
      if (!last) {
        if ((is_link ? host_.type(path) : type) == FileType::kDirectory)
          subdirectories.push_back(std::move(path));
      } else if (is_link) {
        watch_targets(path);
        take_existing(path);
      } else {
        match_.paths.push_back(std::move(path));
      }
    };
    host_.list(directory, take);
    // Where a limit cuts, it cuts at the same place each time.
    std::ranges::sort(subdirectories);
    for (std::string& subdirectory : subdirectories) descend(std::move(subdirectory), components.subspan(1));
  }

  HostRoot::Match finish() && {
    std::ranges::sort(match_.paths);
    std::ranges::sort(match_.watch);
    match_.watch.erase(std::unique(match_.watch.begin(), match_.watch.end()), match_.watch.end());
    if (directories_ > HostRoot::kMostDirectories)
      match_.remarks.push_back(
          pattern_ + " leads through more than " + std::to_string(HostRoot::kMostDirectories) +
          " directories: what lies in the others is left out; replace wildcards by names");
    if (unwatched_)
      match_.remarks.push_back(pattern_ + " leads through more than " +
                               std::to_string(HostRoot::kMostWatched) +
                               " directories; changes in the others are seen late");
    return std::move(match_);
  }

 private:
  void watch(const std::string& directory, std::string name) {
    if (!watched_.contains(directory)) {
      if (watched_.size() == HostRoot::kMostWatched) {
        unwatched_ = true;
        return;
      }
      watched_.insert(directory);
    }
    match_.watch.push_back({.path = directory, .name = std::move(name)});
  }

  void take_existing(const std::string& path) {
    if (host_.exists(path)) match_.paths.push_back(path);
  }

  // A link stays as it is when what it points to goes and comes back.
  void watch_targets(fs::path path) {
    for (int links = 0; links < kMostLinks; ++links) {
      const std::optional<std::string> target = host_.link_target(path);
      if (!target) return;
      path = (path.parent_path() / *target).lexically_normal();
      if (!path.has_filename()) path = path.parent_path();
      if (!path.has_filename()) return;
      watch(path.parent_path(), escape(path.filename()));
    }
  }

  const HostRoot& host_;
  const std::string& pattern_;
  std::size_t directories_ = 0;  // looked into
  std::unordered_set<std::string> watched_;
  bool unwatched_ = false;  // one or more
  HostRoot::Match match_;
};

}  // namespace

HostRoot::HostRoot(fs::path prefix) : prefix_(std::move(prefix)), beginning_(prefix_.native()) {
  while (beginning_.ends_with('/')) beginning_.pop_back();
}

HostRoot::HostRoot(std::shared_ptr<const RecordedMachine> machine)
    : machine_(std::move(machine)), nvml_(machine_, &machine_->nvml), sysfs_memory_(make_sysfs_memory()) {}

HostRoot HostRoot::noted(Note note, std::shared_ptr<const NvmlView> nvml) const {
  HostRoot root = *this;
  root.note_ = std::move(note);
  root.nvml_ = std::move(nvml);
  return root;
}

fs::path HostRoot::at(const fs::path& path) const {
  if (machine_) throw std::logic_error(path.string() + " of another machine is not at hand");
  return prefix_ / path.relative_path();
}

std::string HostRoot::node_name() const {
  if (machine_) return machine_->node;
  const char* const name = std::getenv("NODE_NAME");
  return name ? name : "";
}

FileType HostRoot::type(const std::string& path) const {
  note(Look::kFile, path);
  if (machine_) {
    const auto found = machine_->tree.find(path);
    return found.file ? found.file->type : FileType::kNothing;
  }
  struct stat status {};
  return ::stat(real(path).c_str(), &status) == 0 ? type_of(status.st_mode) : FileType::kNothing;
}

FileType HostRoot::own_type(const std::string& path) const {
  note(Look::kFile, path);
  if (machine_) {
    const auto found = machine_->tree.find(path, RecordedTree::LastLink::kKeep);
    return found.file ? found.file->type : FileType::kNothing;
  }
  struct stat status {};
  return ::lstat(real(path).c_str(), &status) == 0 ? type_of(status.st_mode) : FileType::kNothing;
}

std::optional<std::string> HostRoot::text(const std::string& path, std::size_t most) const {
  note(Look::kText, path);
  if (!machine_) return file_text(real(path), most);
  const auto found = machine_->tree.find(path);
  return found.file && found.file->type == FileType::kRegular ? found.file->text : std::nullopt;
}

std::optional<std::string> HostRoot::link_target(const std::string& path) const {
  note(Look::kFile, path);
  if (machine_) {
    const auto found = machine_->tree.find(path, RecordedTree::LastLink::kKeep);
    return found.file && found.file->type == FileType::kLink ? found.file->text : std::nullopt;
  }
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(real(path).c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::optional<std::string> HostRoot::canonical(const std::string& path) const {
  note(Look::kFile, path);
  if (machine_) {
    auto found = machine_->tree.resolve(path);
    return found.file ? std::optional(std::move(found.path)) : std::nullopt;
  }
  std::string found = real_path(real(path));
  if (found.empty()) return std::nullopt;
  if (beginning_.empty()) return found;
  const std::string prefix = real_path(beginning_);
  if (found == prefix) return "/";
  return found.starts_with(prefix + '/') ? found.substr(prefix.size()) : found;
}

std::optional<std::string> HostRoot::device_number(const std::string& path) const {
  note(Look::kFile, path);
  if (machine_) {
    const auto found = machine_->tree.find(path);
    return found.file && is_device_node(found.file->type) ? found.file->text : std::nullopt;
  }
  struct stat status {};
  if (::stat(real(path).c_str(), &status) != 0 || !is_device_node(type_of(status.st_mode)))
    return std::nullopt;
  return std::to_string(major(status.st_rdev)) + ':' + std::to_string(minor(status.st_rdev));
}

std::error_code HostRoot::list(const std::string& directory, const Entry& entry) const {
  note(Look::kEntries, directory);
  if (!machine_) return list_directory(real(directory), entry);
  const auto found = machine_->tree.find(directory);
  if (!found.file) return found.failed;
  if (found.file->type != FileType::kDirectory) return std::make_error_code(std::errc::not_a_directory);
  for (const RecordedTree::Entry& each : found.file->entries) entry(each.name, each.file.type);
  return {};
}

HostRoot::Match HostRoot::glob(const std::string& pattern) const {
  std::vector<std::string> components;
  for (const fs::path& component : fs::path(pattern).relative_path()) {
    if (!component.empty()) components.push_back(component);
  }
  Walk walk(*this, pattern);
  if (!components.empty()) walk.descend("", components);
  Match match = std::move(walk).finish();
  for (const std::string& path : match.paths) note(Look::kFile, path);
  return match;
}

}  // namespace plughost
