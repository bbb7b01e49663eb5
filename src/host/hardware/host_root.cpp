#include "host/hardware/host_root.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "base/system/files.hpp"
#include "base/text/text.hpp"
#include "host/hardware/recorded_machine.hpp"
#include "host/hardware/sysfs.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

class Walk {
 public:
  // `host` and `pattern` must outlive the walk.
  Walk(const HostRoot& host, const std::string& pattern) : host_(host), pattern_(pattern) {}

  // base: a directory's path without a trailing '/'; "" is the root.
  void descend(std::string base, std::span<const std::string> components) {
    if (++directories_ > HostRoot::kMostDirectories) return;
    while (components.size() > 1 && !has_wildcards(components.front())) {
      base += '/' + components.front();
      components = components.subspan(1);
    }
    const std::string& component = components.front();
    const bool last = components.size() == 1;
    const std::string directory = base.empty() ? "/" : base;
    if (!has_wildcards(component)) {
      watch(directory, without_wildcards(component));
      const std::string path = base + '/' + component;
      if (host_.own_type(path) == FileType::kLink) watch_targets(path);
      return take_existing(path);
    }
    watch(directory, component);

    std::vector<std::string> subdirectories;
    const auto take = [&](std::string_view each, FileType type) {
      const std::string name(each);
      if (!matches(component, name)) return;
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
    // Sorts, so that a limit always cuts off the same directories.
    std::ranges::sort(subdirectories);
    for (std::string& subdirectory : subdirectories) descend(std::move(subdirectory), components.subspan(1));
  }

  HostRoot::Match finish() && {
    std::ranges::sort(match_.paths);
    sort_unique(match_.watch);
    if (directories_ > HostRoot::kMostDirectories)
      match_.remarks.push_back(pattern_ + " leads through more than " +
                               std::to_string(HostRoot::kMostDirectories) +
                               " directories: the rest is left out; replace wildcards by names");
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

  // Watches the targets, because a link itself does not change when its target disappears and reappears.
  void watch_targets(fs::path path) {
    for (int links = 0; links < kMostLinks; ++links) {
      const std::optional<std::string> target = host_.link_target(path);
      if (!target) return;
      path = (path.parent_path() / *target).lexically_normal();
      if (!path.has_filename()) path = path.parent_path();
      if (!path.has_filename()) return;
      watch(path.parent_path(), without_wildcards(path.filename().native()));
    }
  }

  const HostRoot& host_;
  const std::string& pattern_;
  std::size_t directories_ = 0;  // directories that were searched
  std::unordered_set<std::string> watched_;
  bool unwatched_ = false;  // at least one directory is not watched
  HostRoot::Match match_;
};

}  // namespace

HostRoot::HostRoot(fs::path prefix) : prefix_(std::move(prefix)) {
  std::string beginning = prefix_.native();
  while (beginning.ends_with('/')) beginning.pop_back();
  files_ = live_files(std::move(beginning));
}

HostRoot::HostRoot(std::shared_ptr<const RecordedMachine> machine)
    : machine_(std::move(machine)),
      files_(machine_, &machine_->tree),
      nvml_(machine_, &machine_->nvml),
      sysfs_memory_(make_sysfs_memory()) {}

HostRoot HostRoot::noted(Note note, std::shared_ptr<const NvmlView> nvml) const {
  HostRoot root = *this;
  root.note_ = std::move(note);
  root.nvml_ = std::move(nvml);
  return root;
}

fs::path HostRoot::at(const fs::path& path) const {
  if (recorded()) throw std::logic_error(path.string() + " is a path of a recorded machine, not of this one");
  return prefix_ / path.relative_path();
}

std::string HostRoot::node_name() const {
  if (recorded()) return machine_->node;
  const char* const name = std::getenv("NODE_NAME");
  return name ? name : "";
}

HostRoot::Match HostRoot::glob(const std::string& pattern) const {
  std::vector<std::string> components;
  for (const fs::path& component : fs::path(pattern).relative_path()) {
    if (!component.empty()) components.push_back(component);
  }
  Walk walk(*this, pattern);
  if (!components.empty()) walk.descend("", components);
  Match match = std::move(walk).finish();
  for (const std::string& path : match.paths) look(Look::kFile, path);
  return match;
}

}  // namespace plughost
