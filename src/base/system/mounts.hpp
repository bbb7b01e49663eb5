#pragma once
// What is mounted where, as this process sees it. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"

namespace plughost {

// The mount points of file systems that may not answer: network file systems, FUSE, automounts, and every one
// that is not known to be of the kernel alone. Without "/": when that hangs, this process hangs with it.
// table: a file such as /proc/self/mounts (fstab(5)'s fields); nothing if it cannot be read.
std::set<std::string> remote_mounts(const std::string& table = "/proc/self/mounts");

// Tells when something is mounted or unmounted where this process can see it. Where there is no /proc nothing
// is told, and nothing is remote.
class MountWatch {
 public:
  // Mounts come in crowds: it calls back once for those that come within this.
  static constexpr std::chrono::milliseconds kPause{500};

  // The loop outlives it.
  MountWatch(EventLoop& loop, std::function<void()> callback);

  // Whether a file system that may not answer is mounted at this path, which has no links in it.
  bool is_remote(const std::string& path);

 private:
  void on_change();

  UniqueFd mounts_;
  std::set<std::string> remote_;
  bool remote_is_old_ = true;
  EventLoop::Clock::time_point told_{};
  Timer timer_;
  std::unique_ptr<IoWatch> io_;
};

}  // namespace plughost
