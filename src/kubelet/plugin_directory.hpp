#pragma once
// Our hold on the directory of our sockets: one host per directory. Loop thread only.

#include <filesystem>
#include <optional>

#include "base/files.hpp"

namespace plughost {

class PluginDirectory {
 public:
  // Locks the directory if it is there, and removes the sockets that an earlier, killed host left.
  // Throws DirectoryHeld, or std::system_error if it is there but cannot be opened.
  explicit PluginDirectory(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  // After the directory was removed and made again: locks the one that is there now, if it has to.
  // Throws as the constructor does; std::system_error as well if there is none.
  void hold();

 private:
  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;
};

}  // namespace plughost
