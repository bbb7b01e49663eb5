#pragma once
// inotify: what is to be told of a directory, an instance, and the watches that one path needs.

#include <sys/inotify.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/system/unique_fd.hpp"

namespace plughost {

// What is to be told of a directory's entries. A value.
enum class WatchFor {
  kEntries,   // they come and go
  kContents,  // and are written: whoever had one open for writing has closed it
};

// An inotify instance, and for whom its watches are. Not thread-safe.
class Inotify {
 public:
  using Owner = std::uint64_t;
  // What somebody wants to know of a directory.
  struct Interest {
    int descriptor = -1;  // inotify's, of the watch
    std::string name;     // the entry that matters; empty: they all do

    bool operator==(const Interest&) const = default;
  };

  // inotify_add_watch(2).
  using AddWatch = std::function<int(int instance, const char* directory, std::uint32_t mask)>;

  // Throws std::system_error: a user may have only so many (fs.inotify.max_user_instances).
  explicit Inotify(AddWatch add_watch);

  // To wait for its being readable.
  int fd() const { return fd_.get(); }

  // Whoever looks at the entry after its return misses nothing: what changes from then on is told. mask:
  // inotify(7)'s. The error: why there is no watch.
  std::variant<Interest, std::error_code> add(const std::filesystem::path& directory, std::uint32_t mask,
                                              const std::string& name, Owner owner);
  void drop(Owner owner, const std::vector<Interest>& interests);

  enum class What { kEntry, kWritten, kMoved, kLost };
  struct Event {
    What what = What::kLost;  // kMoved: the directory's own entry that mattered, or the directory itself
    Owner owner = 0;          // not for kLost, which is for all
    std::string name;         // kEntry: what came or went; kWritten: the file
  };
  // The next events, without waiting; nothing: there are none.
  std::vector<Event> read();

 private:
  using Owners = std::unordered_set<Owner>;
  using Directory = std::unordered_map<std::string, Owners>;  // by the name that matters

  void receive(int descriptor, std::uint32_t mask, const std::string& name, std::vector<Event>& events);

  AddWatch add_watch_;
  UniqueFd fd_;
  std::unordered_map<int, Directory> directories_;  // by descriptor
};

// The inotify watches that one path needs.
struct WatchPlacement {
  std::vector<Inotify::Interest> interests;  // the last has no name, if the directory is there
  // The kernel has no room for one of them, and what it would have told will be missed. Not set: it has.
  std::error_code starved;
  // The path leads into a file system that may not answer: nothing is looked at or watched from there on.
  bool remote = false;
};

// Watches the directory and all that leads to it, links included, up to the first path that is_remote.
WatchPlacement place_watches(Inotify& inotify, Inotify::Owner owner, const std::filesystem::path& directory,
                             WatchFor what, const std::function<bool(const std::string& path)>& is_remote);

}  // namespace plughost
