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
  // changed is called for each change. Both must outlive it.
  FollowedDirectories(DirWatcher& watcher, const HostRoot& host, std::function<void()> changed);

  // Replaces the directories; present watches are kept. changed is called when a new one is active.
  void follow(std::span<const WatchedDirectory> wanted);

 private:
  DirWatcher& watcher_;
  const HostRoot& host_;
  std::function<void()> changed_;
  std::map<WatchedDirectory, std::unique_ptr<DirWatch>> watches_;
};

}  // namespace plughost
