#include "kubelet/kubelet_watcher.hpp"

#include "kubelet/unix_socket.hpp"

namespace plughost {

KubeletWatcher::KubeletWatcher(DirWatcher& watcher, std::filesystem::path sign, OnChange on_change,
                               const std::filesystem::path& own_sockets, OnChange on_own_sockets)
    : sign_(std::move(sign)),
      on_change_(std::move(on_change)),
      // By name: every checkpoint the kubelet writes is two events in the same directory.
      sign_watch_(watcher.watch(sign_.parent_path(), sign_.filename(), [this](std::string_view) { look(); })),
      own_watch_(watcher.watch(own_sockets, std::string(kSocketPrefix) + "*",
                               [callback = std::move(on_own_sockets)](std::string_view) { callback(); })),
      current_(identity_of(sign_)) {}

void KubeletWatcher::look() {
  const std::optional<FileIdentity> now = identity_of(sign_);
  if (now == current_) return;
  current_ = now;
  on_change_();
}

}  // namespace plughost
