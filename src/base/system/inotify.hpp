#pragma once
// An inotify instance, and the watches that one path needs.

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

// The changes of a directory's entries that are reported. A value.
enum class WatchFor {
  kEntries,   // entries appear and disappear
  kContents,  // in addition, files are closed after writing
};

// An inotify instance with the owners of its watches. Not thread-safe.
class Inotify {
 public:
  using Owner = std::uint64_t;
  // An owner's interest in the entries of a directory.
  struct Interest {
    int descriptor = -1;  // inotify's watch descriptor
    std::string name;     // the entry of interest; empty: all entries

    bool operator==(const Interest&) const = default;
  };

  // inotify_add_watch(2).
  using AddWatch = std::function<int(int instance, const char* directory, std::uint32_t mask)>;

  // Throws std::system_error, because a user's instances are limited (fs.inotify.max_user_instances).
  explicit Inotify(AddWatch add_watch);

  // Returns the descriptor that becomes readable when there are events.
  int fd() const { return fd_.get(); }

  // Watches a directory for an owner; `mask` is as in inotify(7). Every change after the return is reported,
  // so a caller that then examines the entry misses nothing. Returns an error if the kernel adds no watch.
  std::variant<Interest, std::error_code> add(const std::filesystem::path& directory, std::uint32_t mask,
                                              const std::string& name, Owner owner);
  void drop(Owner owner, const std::vector<Interest>& interests);

  enum class What { kEntry, kWritten, kMoved, kLost };
  struct Event {
    What what = What::kLost;  // kMoved: the entry of interest, or the directory itself, has changed
    Owner owner = 0;          // 0 for kLost, which concerns all owners
    std::string name;         // kEntry: the entry that appeared or disappeared; kWritten: the file
  };
  // Returns the next events without waiting; empty if there are none.
  std::vector<Event> read();

 private:
  using Owners = std::unordered_set<Owner>;
  using Directory = std::unordered_map<std::string, Owners>;  // by the entry of interest

  void receive(int descriptor, std::uint32_t mask, const std::string& name, std::vector<Event>& events);

  AddWatch add_watch_;
  UniqueFd fd_;
  std::unordered_map<int, Directory> directories_;  // by watch descriptor
};

// The inotify watches that one path needs.
struct WatchPlacement {
  std::vector<Inotify::Interest> interests;  // the last interest has no name if the directory exists
  // Set if the kernel has no room for one of the watches, whose events will be missed.
  std::error_code starved;
  // The path leads into a file system that may not respond: nothing beyond that point is accessed or watched.
  bool remote = false;
};

// Watches the directory, and each directory and link on the way to it, up to the first path for which
// `is_remote` returns true.
WatchPlacement place_watches(Inotify& inotify, Inotify::Owner owner, const std::filesystem::path& directory,
                             WatchFor what, const std::function<bool(const std::string& path)>& is_remote);

}  // namespace plughost
