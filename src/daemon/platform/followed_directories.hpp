#pragma once
// The directories that the last scan has looked into. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "base/system/dir_watch.hpp"
#include "host/hardware/host_root.hpp"

namespace plughost {

class FollowedDirectories {
 public:
  // changed is called for each change. Both outlive it.
  FollowedDirectories(DirWatcher& watcher, const HostRoot& host, std::function<void()> changed);

  // These from now on; what was followed already stays. Once a new one is in force, changed is called.
  void follow(std::span<const WatchedDirectory> wanted);

 private:
  DirWatcher& watcher_;
  const HostRoot& host_;
  std::function<void()> changed_;
  std::map<WatchedDirectory, std::unique_ptr<DirWatch>> watches_;
};

}  // namespace plughost
