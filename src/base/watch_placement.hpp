#pragma once
// The inotify watches that one path needs. Any thread; may hang with the file system.

#include <filesystem>
#include <functional>
#include <system_error>
#include <vector>

#include "base/inotify.hpp"
#include "base/watch_for.hpp"

namespace plughost {

struct WatchPlacement {
  std::vector<Inotify::Interest> interests;  // the last has no name, if the directory is there
  // The kernel has no room for one of them, and what it would have told will be missed. Not set: it has.
  std::error_code starved;
};

// Watches the directory and all that leads to it, links included. at: told before each step what it may hang
// at.
using AtPath = std::function<void(const std::filesystem::path& at)>;
WatchPlacement place_watches(Inotify& inotify, Inotify::Owner owner, const std::filesystem::path& directory,
                             WatchFor what, const AtPath& at);

}  // namespace plughost
