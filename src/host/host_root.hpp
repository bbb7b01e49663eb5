#pragma once
// The machine's files, seen under a prefix, so that a test can hand in a made tree. Thread-safe.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/watch_for.hpp"

namespace plughost {

// A directory whose changes can change a scan's result: entries whose name matches the pattern come or go, or
// are written.
struct WatchedDirectory {
  std::filesystem::path path;  // as on the machine, without the prefix; need not exist
  std::string name = "*";      // fnmatch(3) pattern
  WatchFor what = WatchFor::kEntries;

  auto operator<=>(const WatchedDirectory&) const = default;
};

class HostRoot {
 public:
  explicit HostRoot(std::filesystem::path prefix = "/");

  // Where a path of the machine is found under the prefix.
  std::filesystem::path at(const std::filesystem::path& path) const;

  // A look ends here: links may lead in circles, and a pattern to the whole machine.
  static constexpr std::size_t kMostDirectories = 50'000;
  // Each costs one of the user's inotify watches.
  static constexpr std::size_t kMostWatched = 1000;

  struct Match {
    std::vector<std::string> paths;       // existing ones, sorted by name, without the prefix
    std::vector<WatchedDirectory> watch;  // what was looked at, so that a change will be seen
    std::vector<std::string> remarks;     // which limit left something out
  };
  // The paths that a pattern with * ? [] in any of its components matches. A name's leading dot is not
  // special.
  Match glob(const std::string& pattern) const;

 private:
  std::filesystem::path prefix_;
};

}  // namespace plughost
