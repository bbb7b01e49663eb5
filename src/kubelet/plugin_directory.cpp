#include "kubelet/plugin_directory.hpp"

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
  // The lock is ours: what has our prefix now has no owner. A file that cannot be removed harms nobody.
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kSocketPrefix) && entry->is_socket(ignored)) fs::remove(entry->path(), ignored);
  }
}

}  // namespace plughost
