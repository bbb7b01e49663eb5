#pragma once
// Changes in directories, by inotify: one instance for the whole process (a user may have only 128).
// Loop thread only.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/event_loop.hpp"

namespace plughost {

class DirWatcher;

// Lives as long as somebody wants to know. Its DirWatcher outlives it.
class DirWatch {
 public:
  // name: the entry that came or went. Empty: everything may be different (the directory itself came, went or
  // was replaced, a link on the way to it changed, or the kernel lost events).
  using Callback = std::function<void(std::string_view name)>;

  ~DirWatch();
  DirWatch(const DirWatch&) = delete;
  DirWatch& operator=(const DirWatch&) = delete;

 private:
  friend class DirWatcher;
  DirWatch(DirWatcher& watcher, std::filesystem::path path, std::string pattern, Callback callback);

  DirWatcher& watcher_;
  std::filesystem::path path_;
  std::string pattern_;
  Callback callback_;
  std::vector<int> descriptors_;  // every inotify watch that this one has an interest in
};

class DirWatcher {
 public:
  // trouble is told, once per kind, when the kernel's limits leave something unwatched; a slow rescan has to
  // do then. Throws std::system_error.
  DirWatcher(EventLoop& loop, std::function<void(std::string)> trouble);
  ~DirWatcher();
  DirWatcher(const DirWatcher&) = delete;
  DirWatcher& operator=(const DirWatcher&) = delete;

  // Watches the entries of path whose name matches pattern (fnmatch(3); a leading dot is not special). path
  // is absolute; it need not exist, may come later, may be a link or lie behind links, may vanish and come
  // again. Whoever scans scans after this: what changes from now on is told.
  std::unique_ptr<DirWatch> watch(std::filesystem::path path, std::string pattern,
                                  DirWatch::Callback callback);
  // Looks again at every path: for what inotify does not tell, such as a mount over a directory.
  void refresh();

 private:
  friend class DirWatch;
  struct Interest {
    DirWatch* watch;
    std::string
        name;  // an entry of the directory on the way to the watched one; empty: this is the watched one
  };

  void place(DirWatch& watch);
  void withdraw(DirWatch& watch, const std::vector<int>& descriptors);
  void on_readable();
  void on_event(int descriptor, std::uint32_t mask, std::string_view name);
  void on_overflow();

  UniqueFd inotify_;
  std::function<void(std::string)> trouble_;
  std::unordered_map<int, std::vector<Interest>> interests_;  // by inotify's watch descriptor
  std::unordered_set<DirWatch*> watches_;
  bool told_limit_ = false;
  IoWatch io_;
};

}  // namespace plughost
