#include "kubelet/plugin_directory_clearing.hpp"

#include <vector>

#include "kubelet/checkpoint_file.hpp"

namespace plughost {

namespace fs = std::filesystem;

void make_clear_directory(const fs::path& directory, StandInKubelet::Clearing clearing) {
  if (fs::create_directories(directory))
    fs::permissions(directory, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  std::vector<fs::path> doomed;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename() == CheckpointFile::kName) continue;
    // fs::status follows links, as Go's os.Stat does. A dangling link stays.
    std::error_code error;
    const fs::file_status status = fs::status(entry.path(), error);
    if (error || !fs::exists(status) || fs::is_directory(status)) continue;
    if (clearing == StandInKubelet::Clearing::kEverything || fs::is_socket(status))
      doomed.push_back(entry.path());
  }
  for (const fs::path& path : doomed) {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
}

}  // namespace plughost
