#pragma once
// The kubelet's directory: detection of a kubelet, and the lock on the directory. Loop thread only.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/files.hpp"
#include "base/system/unix_socket.hpp"

namespace plughost {

// The lock on the directory of our sockets: one daemon per directory. Loop thread only.
class PluginDirectory {
 public:
  // Locks the directory if it exists, and removes the sockets of an earlier, killed daemon. Throws
  // DirectoryHeld, or std::system_error if the directory exists but cannot be opened. If `lent`, a
  // predecessor has the lock until own(), and sockets of both are in the directory.
  explicit PluginDirectory(std::filesystem::path path, bool lent = false);

  const std::filesystem::path& path() const { return path_; }
  // Locks the present directory if it has been removed and created again. Throws like the constructor; also
  // std::system_error if the directory is missing.
  void hold();
  // Locks a lent directory. Throws like the constructor.
  void own();
  // Removes the sockets of killed processes.
  void remove_dead();
  // Ends the lock.
  void release() { lock_.reset(); }
  // Returns when hold() last found sockets of a killed daemon; nullopt: never.
  std::optional<EventLoop::Clock::time_point> dead_found() const { return dead_found_; }

 private:
  std::filesystem::path path_;
  bool lent_;
  std::optional<DirectoryLock> lock_;
  std::optional<EventLoop::Clock::time_point> dead_found_;
};

// Detects which kubelet is present. Loop thread only.
class KubeletWatcher {
 public:
  using OnChange = std::function<void()>;

  // `sign` is kubelet.sock if we register, or the plugins_registry directory if the kubelet finds us.
  // `own_sockets` is the directory of our sockets; `on_own_sockets` is called when one of them may be
  // missing. `watcher` must outlive this object. The constructor calls neither function.
  KubeletWatcher(DirWatcher& watcher, std::filesystem::path sign, OnChange on_change,
                 const std::filesystem::path& own_sockets, OnChange on_own_sockets);

  const std::optional<FileIdentity>& current() const { return current_; }
  // Examines `sign` now, and calls on_change if the kubelet has changed or disappeared. A later event for the
  // same change has no effect.
  void check();

 private:
  std::filesystem::path sign_;
  OnChange on_change_;
  std::unique_ptr<DirWatch> sign_watch_;
  std::unique_ptr<DirWatch> own_watch_;
  std::optional<FileIdentity> current_;  // examined after the watch is placed
};

}  // namespace plughost
