#include "daemon/platform/followed_directories.hpp"

#include <set>
#include <string>
#include <utility>

namespace plughost {
namespace {

// Above this number of names, a single watch for all entries of a directory is cheaper.
constexpr std::size_t kNamesPerDirectory = 8;

std::set<WatchedDirectory> few_watches(std::span<const WatchedDirectory> wanted) {
  std::map<std::pair<std::filesystem::path, WatchFor>, std::set<std::string>> by_path;
  for (const WatchedDirectory& each : wanted) by_path[{each.path, each.what}].insert(each.name);
  std::set<WatchedDirectory> few;
  for (const auto& [directory, names] : by_path) {
    const auto& [path, what] = directory;
    if (names.size() > kNamesPerDirectory || names.contains("*"))
      few.insert({path, "*", what});
    else
      for (const std::string& name : names) few.insert({path, name, what});
  }
  return few;
}

}  // namespace

FollowedDirectories::FollowedDirectories(DirWatcher& watcher, const HostRoot& host,
                                         std::function<void()> changed)
    : watcher_(watcher), host_(host), changed_(std::move(changed)) {}

void FollowedDirectories::follow(std::span<const WatchedDirectory> wanted) {
  const std::set<WatchedDirectory> few = few_watches(wanted);
  std::erase_if(watches_, [&](const auto& item) { return !few.contains(item.first); });
  for (const WatchedDirectory& each : few) {
    if (watches_.contains(each)) continue;
    watches_[each] = watcher_.watch(
        host_.at(each.path), each.name, [this](std::string_view) { changed_(); }, each.what);
  }
}

}  // namespace plughost
