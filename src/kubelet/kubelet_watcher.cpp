#include "kubelet/kubelet_watcher.hpp"

#include "kubelet/socket_name.hpp"

namespace plughost {

namespace {

std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return FileIdentity{status.st_dev, status.st_ino, 0};
  if (!S_ISSOCK(status.st_mode)) return std::nullopt;
  const std::int64_t changed = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return FileIdentity{status.st_dev, status.st_ino, changed};
}

}  // namespace

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
