#pragma once
// The mount table, as this process sees it. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"

namespace plughost {

// Returns the mount points of file systems that may not respond: network file systems, FUSE, automounts and
// unknown types; but never "/", because this process hangs anyway if "/" hangs. `table` is a file in the
// format of /proc/self/mounts (fstab(5)); an unreadable file yields no mount points.
std::set<std::string> remote_mounts(const std::string& table = "/proc/self/mounts");

// Calls back when something is mounted or unmounted in this process's mount namespace. Without /proc, nothing
// is reported and no path is remote.
class MountWatch {
 public:
  // The shortest time between two callbacks, because mounts come in bursts.
  static constexpr std::chrono::milliseconds kPause{500};

  // `loop` must outlive this object.
  MountWatch(EventLoop& loop, std::function<void()> callback);

  // Returns true if a file system that may not respond is mounted at this path. The path must not contain
  // links.
  bool is_remote(const std::string& path);

 private:
  UniqueFd mounts_;
  std::set<std::string> remote_;
  bool remote_is_old_ = true;
  EventLoop::Clock::time_point told_{};
  Timer timer_;
  std::unique_ptr<IoWatch> io_;
};

}  // namespace plughost
