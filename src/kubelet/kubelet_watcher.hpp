#pragma once
// Which kubelet is there now, or none. Loop thread only.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/dir_watch.hpp"
#include "kubelet/unix_socket.hpp"

namespace plughost {

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
  void look();

 private:
  std::filesystem::path sign_;
  OnChange on_change_;
  std::unique_ptr<DirWatch> sign_watch_;
  std::unique_ptr<DirWatch> own_watch_;
  std::optional<FileIdentity> current_;  // looked at after the watch is placed
};

}  // namespace plughost
