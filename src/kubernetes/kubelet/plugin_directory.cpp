#include "kubernetes/kubelet/plugin_directory.hpp"

#include <stdexcept>

#include "base/system/unix_socket.hpp"

namespace plughost {

namespace fs = std::filesystem;

namespace {

// Removes a socket on which no process listens, and returns true if there was one. Ignores failures.
bool remove_if_dead(const fs::path& socket) {
  try {
    if (!dead_socket(socket)) return false;
    std::error_code ignored;
    fs::remove(socket, ignored);
    return true;
  } catch (const std::runtime_error&) {  // includes std::system_error
    return false;
  }
}

}  // namespace

PluginDirectory::PluginDirectory(fs::path path, bool lent) : path_(std::move(path)), lent_(lent) {
  if (!lent_) own();
}

void PluginDirectory::own() {
  lent_ = false;
  std::error_code error;
  if (fs::exists(path_, error)) hold();
}

void PluginDirectory::hold() {
  if (lent_ || (lock_ && lock_->still_at(path_))) return;
  lock_.reset();
  lock_.emplace(path_);
  remove_dead();
}

void PluginDirectory::remove_dead() {
  // While this daemon holds the lock, no other daemon owns sockets with plughost's prefix, except a
  // successor.
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kSocketPrefix) && remove_if_dead(entry->path()))
      dead_found_ = EventLoop::Clock::now();
  }
}

KubeletWatcher::KubeletWatcher(DirWatcher& watcher, std::filesystem::path sign, OnChange on_change,
                               const std::filesystem::path& own_sockets, OnChange on_own_sockets)
    : sign_(std::move(sign)),
      on_change_(std::move(on_change)),
      // Watches one name, because each checkpoint of the kubelet causes two events in the directory.
      sign_watch_(
          watcher.watch(sign_.parent_path(), sign_.filename(), [this](std::string_view) { check(); })),
      own_watch_(watcher.watch(own_sockets, std::string(kSocketPrefix) + "*",
                               [callback = std::move(on_own_sockets)](std::string_view) { callback(); })),
      current_(identity_of(sign_)) {}

void KubeletWatcher::check() {
  const std::optional<FileIdentity> now = identity_of(sign_);
  if (now == current_) return;
  current_ = now;
  on_change_();
}

}  // namespace plughost
