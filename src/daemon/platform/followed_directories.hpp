#pragma once
// Watches the directories that the last scan has examined. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "base/system/dir_watch.hpp"
#include "host/hardware/host_root.hpp"

namespace plughost {

class FollowedDirectories {
 public:
  // Calls `changed` for each change. `watcher` and `host` must outlive this object.
  FollowedDirectories(DirWatcher& watcher, const HostRoot& host, std::function<void()> changed);

  // Replaces the directories, but keeps watches that exist. Calls `changed` when a new watch is active.
  void follow(std::span<const WatchedDirectory> wanted);

 private:
  DirWatcher& watcher_;
  const HostRoot& host_;
  std::function<void()> changed_;
  std::map<WatchedDirectory, std::unique_ptr<DirWatch>> watches_;
};

}  // namespace plughost
