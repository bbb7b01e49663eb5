#pragma once
// The kubelet's directory: whether a kubelet is there, and our hold on it. Loop thread only.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/files.hpp"
#include "base/system/unix_socket.hpp"

namespace plughost {

// Our hold on the directory of our sockets: one host per directory. Loop thread only.
class PluginDirectory {
 public:
  // Locks the directory if it is there, and removes the sockets that an earlier, killed host left.
  // Throws DirectoryHeld, or std::system_error if it is there but cannot be opened.
  explicit PluginDirectory(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  // After the directory was removed and made again: locks the one that is there now, if it has to.
  // Throws as the constructor does; std::system_error as well if there is none.
  void hold();
  // The last time at which hold() found sockets that a killed host left; nullopt: there were none.
  std::optional<EventLoop::Clock::time_point> dead_found() const { return dead_found_; }

 private:
  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;
  std::optional<EventLoop::Clock::time_point> dead_found_;
};

// Which kubelet is there now, or none. Loop thread only.
class KubeletWatcher {
 public:
  using OnChange = std::function<void()>;

  // sign: kubelet.sock where we register; the plugins_registry directory where the kubelet looks for us.
  // own_sockets: the directory of our own sockets; on_own_sockets is called when one of them may be gone.
  // The watcher outlives it. Nothing is called from within the constructor.
  KubeletWatcher(DirWatcher& watcher, std::filesystem::path sign, OnChange on_change,
                 const std::filesystem::path& own_sockets, OnChange on_own_sockets);

  const std::optional<FileIdentity>& current() const { return current_; }
  // Looks now; calls on_change if it is another than before, or none. A late event finds no difference.
  void check();

 private:
  std::filesystem::path sign_;
  OnChange on_change_;
  std::unique_ptr<DirWatch> sign_watch_;
  std::unique_ptr<DirWatch> own_watch_;
  std::optional<FileIdentity> current_;  // looked at after the watch is placed
};

}  // namespace plughost
