#include "host/host_root.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/kernel_limits.hpp"

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
    const fs::path directory = base.empty() ? "/" : base;
    if (!is_pattern(component)) {
      watch(directory, escape(component));
      const std::string path = base + '/' + component;
      std::error_code failed;
      if (fs::is_symlink(host_.at(path), failed)) watch_targets(path);
      return take_existing(path);
    }
    watch(directory, component);

    std::vector<std::string> subdirectories;
    std::error_code failed;
    for (fs::directory_iterator entry(host_.at(directory), failed);
         !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
      const std::string name = entry->path().filename();
      if (::fnmatch(component.c_str(), name.c_str(), 0) != 0) continue;
      std::error_code unreadable;
      const std::string path = base + '/' + name;
      if (last) {
        if (!entry->is_symlink(unreadable)) {
          match_.paths.push_back(path);
        } else {
          watch_targets(path);
          take_existing(path);
        }
      } else if (entry->is_directory(unreadable)) {
        subdirectories.push_back(path);
      }
    }
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
  void watch(fs::path directory, std::string name) {
    if (!watched_.contains(directory.native())) {
      if (watched_.size() == HostRoot::kMostWatched) {
        unwatched_ = true;
        return;
      }
      watched_.insert(directory.native());
    }
    match_.watch.push_back({.path = std::move(directory), .name = std::move(name)});
  }

  void take_existing(const std::string& path) {
    std::error_code failed;
    if (fs::exists(host_.at(path), failed)) match_.paths.push_back(path);
  }

  // A link stays as it is when what it points to goes and comes back.
  void watch_targets(fs::path path) {
    for (int links = 0; links < kMostLinks; ++links) {
      std::error_code failed;
      const fs::path target = fs::read_symlink(host_.at(path), failed);
      if (failed) return;
      path = (path.parent_path() / target).lexically_normal();
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

HostRoot::HostRoot(fs::path prefix) : prefix_(std::move(prefix)) {}

fs::path HostRoot::at(const fs::path& path) const {
  return prefix_ / path.relative_path();
}

HostRoot::Match HostRoot::glob(const std::string& pattern) const {
  std::vector<std::string> components;
  for (const fs::path& component : fs::path(pattern).relative_path()) {
    if (!component.empty()) components.push_back(component);
  }
  Walk walk(*this, pattern);
  if (!components.empty()) walk.descend("", components);
  return std::move(walk).finish();
}

}  // namespace plughost
