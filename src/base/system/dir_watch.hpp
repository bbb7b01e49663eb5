#pragma once
// Changes in directories: by inotify, one instance for the whole process (a user may have only 128), or by
// looking again now and then where a file system may not answer. Loop thread only.

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/inotify.hpp"
#include "base/system/mounts.hpp"

namespace plughost {

class DirWatcher;

// Lives as long as somebody wants to know. Its DirWatcher outlives it.
class DirWatch {
 public:
  // name: the entry that came or went, or that was written. Empty: everything may be different (the watch has
  // just come into force, the directory itself came, went or was replaced, a link on the way to it changed,
  // or the kernel lost events).
  using Callback = std::function<void(std::string_view name)>;

  ~DirWatch();
  DirWatch& operator=(DirWatch&&) = delete;

 private:
  friend class DirWatcher;
  DirWatch(DirWatcher& watcher, std::string path, std::string pattern, WatchFor what, Callback callback);

  DirWatcher& watcher_;
  std::string path_;
  std::string pattern_;
  WatchFor what_;
  Callback callback_;
  bool told_ = false;  // that it is in force
};

// Says once what is not watched, and that it is again. Loop thread only.
class WatchErrors {
 public:
  using Tell = std::function<void(std::string sentence)>;

  // relief may be empty.
  WatchErrors(Tell error, Tell relief) : error_(std::move(error)), relief_(std::move(relief)) {}

  void no_instance(const std::system_error& error);
  void instance();
  // One more path, or one less, for which the kernel has no watch left.
  void starved(const std::string& path, const std::error_code& why);
  void fed();

 private:
  void relieve(const std::string& sentence) const;

  const Tell error_;
  const Tell relief_;
  std::size_t starved_ = 0;
  bool told_starved_ = false;
  bool told_no_instance_ = false;
};

class DirWatcher {
 public:
  // Paths that are looked at in one turn of the loop, which stays short however many are due.
  static constexpr unsigned kAtOnce = 16;

  using Tell = WatchErrors::Tell;
  struct Options {
    Tell error;        // something is not watched: once per kind
    Tell relief = {};  // it is watched again
    // Where the kernel has no watch, or a file system may not answer, everything counts as changed so often.
    std::chrono::milliseconds retry = std::chrono::seconds(10);
    // The kernel's and the mount table's answers.
    Inotify::AddWatch add_watch = ::inotify_add_watch;
    std::function<bool(const std::string& path)> is_remote = {};  // empty: MountWatch::is_remote
  };

  // Without an inotify instance it polls until there is one.
  DirWatcher(EventLoop& loop, Options options);
  DirWatcher(EventLoop& loop, Tell error) : DirWatcher(loop, Options{.error = std::move(error)}) {}
  ~DirWatcher();
  DirWatcher& operator=(DirWatcher&&) = delete;

  // Watches the entries of path whose name matches pattern (fnmatch(3); a leading dot is not special). path
  // is absolute; it need not exist, may come later, may be a link or lie behind links, may vanish and come
  // again. Where the path leads through a remote mount (mounts.hpp), it is not looked at, and an empty name
  // is told every Options::retry. The first call, with an empty name, says that the watch is in force:
  // whoever scans has to scan then, and what changes from then on is told. Nothing is called from within.
  std::unique_ptr<DirWatch> watch(const std::filesystem::path& path, std::string pattern,
                                  DirWatch::Callback callback, WatchFor what = WatchFor::kEntries);
  // Looks again at every path, for what no event tells, and calls back where something is another.
  void refresh();

 private:
  friend class DirWatch;
  struct Path;  // one that is watched, by as many as want to

  bool open();
  Path& path_of(const DirWatch& watch);
  void forget(DirWatch& watch);
  void want(Path& path);
  void want_moved(Path& path);
  void work();
  void place(Path& path);
  void record_starved(Path& path, const std::error_code& starved);
  void on_readable();
  void on_event(const Inotify::Event& event);
  void poll();
  // A callback may end any watch, and a list of them with it: hand in a copy.
  template <typename Wanted>
  void notify(const std::vector<DirWatch*>& watches, std::string_view name, Wanted wanted);

  EventLoop& loop_;
  Options options_;
  std::unique_ptr<Inotify> inotify_;  // nullptr: none is to be had
  std::unordered_set<DirWatch*> watches_;
  std::map<std::string, std::unique_ptr<Path>> paths_;
  std::unordered_map<Inotify::Owner, Path*> owners_;
  Inotify::Owner next_owner_ = 1;
  std::deque<std::string> due_;
  WatchErrors errors_;
  Timer work_;
  Timer retry_;
  std::unique_ptr<IoWatch> io_;
  MountWatch mounts_;
};

}  // namespace plughost
