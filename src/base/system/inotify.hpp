#pragma once
// inotify: what is to be told of a directory, an instance, and the watches that one path needs.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
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

// An inotify instance, and for whom its watches are. Thread-safe: a file system may hold the thread that
// places a watch.
class Inotify {
 public:
  using Owner = std::uint64_t;
  // What somebody wants to know of a directory.
  struct Interest {
    int descriptor = -1;  // inotify's, of the watch
    std::string name;     // the entry that matters; empty: they all do

    bool operator==(const Interest&) const = default;
  };

  // Throws std::system_error: a user may have only so many (fs.inotify.max_user_instances).
  Inotify();

  // To wait for its being readable.
  int fd() const { return fd_.get(); }

  // May hang with the file system. Whoever looks at the entry after its return misses nothing: what changes
  // from then on is told. mask: inotify(7)'s. The error: why there is no watch.
  std::variant<Interest, std::error_code> add(const std::filesystem::path& directory, std::uint32_t mask,
                                              const std::string& name, Owner owner);
  // May hang as well: who lets go of a removed file last may have to put it away.
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

  UniqueFd fd_;
  std::mutex mutex_;
  std::unordered_map<int, Directory> directories_;  // by descriptor
};

// The inotify watches that one path needs. Any thread; may hang with the file system.
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
