#include "kubelet/plugin_directory.hpp"

#include "kubelet/dead_socket.hpp"
#include "kubelet/socket_name.hpp"

namespace plughost {

namespace fs = std::filesystem;

PluginDirectory::PluginDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error)) hold();
}

void PluginDirectory::hold() {
  if (lock_ && lock_->still_at(path_)) return;
  lock_.reset();
  lock_.emplace(path_);
  // The lock is ours: what has our prefix now has no owner, and gets none.
  remove_dead_sockets(path_, kSocketPrefix);
}

}  // namespace plughost
