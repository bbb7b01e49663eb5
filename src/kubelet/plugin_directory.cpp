#include "kubelet/plugin_directory.hpp"

#include <stdexcept>

#include "kubelet/unix_socket.hpp"

namespace plughost {

namespace fs = std::filesystem;

namespace {

// One that cannot be removed, or is something else, harms nobody.
void remove_if_dead(const fs::path& socket) {
  try {
    std::error_code ignored;
    if (dead_socket(socket)) fs::remove(socket, ignored);
  } catch (const std::runtime_error&) {  // std::system_error among them
  }
}

}  // namespace

PluginDirectory::PluginDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error)) hold();
}

void PluginDirectory::hold() {
  if (lock_ && lock_->still_at(path_)) return;
  lock_.reset();
  lock_.emplace(path_);
  // The lock is ours: what has our prefix now has no owner, and gets none.
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kSocketPrefix)) remove_if_dead(entry->path());
  }
}

}  // namespace plughost
