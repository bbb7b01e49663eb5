#pragma once
// Watches directories: by inotify, with one instance for the process (a user may have only 128), or by
// polling where a file system may not respond. Loop thread only.
//
// The loop must not touch a path whose file system may hang, and walking a path does touch it. The mount
// table therefore decides first, by text alone: what leads into FUSE, a network file system or an automount
// is polled every 10 s, everything else is watched by inotify in the loop. The former design
// walked such paths on threads of their own, for events that network file systems do not send. Without
// inotify (fs.inotify.max_user_instances) everything is polled. A new file is listed after 0.72 ms (./dev
// bench).

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

// A subscription to changes of a directory, active during its lifetime. Its DirWatcher must outlive it.
class DirWatch {
 public:
  // `name` is the entry that appeared, disappeared or was written. It is empty if anything may have changed:
  // the watch has just become active; the directory itself, or a link on the way to it, appeared, disappeared
  // or was replaced; or the kernel lost events.
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
  bool told_ = false;  // the callback has been called once
};

// Reports a lack of inotify instances or watches once, and the end of the lack once. Loop thread only.
class WatchErrors {
 public:
  using Tell = std::function<void(std::string sentence)>;

  // `relief` may be empty.
  WatchErrors(Tell error, Tell relief) : error_(std::move(error)), relief_(std::move(relief)) {}

  void no_instance(const std::system_error& error);
  void instance();
  // starved() counts one more path for which the kernel has no watch, and fed() counts one less.
  void starved(const std::string& path, const std::error_code& why);
  void fed();

 private:
  const Tell error_;
  const Tell relief_;
  std::size_t starved_ = 0;
  bool told_starved_ = false;
  bool told_no_instance_ = false;
};

class DirWatcher {
 public:
  // The number of paths that are processed in one turn of the loop, which bounds the turn.
  static constexpr unsigned kAtOnce = 16;
  // The number of reads in one turn: a process of another user that writes without end must not starve other
  // events.
  static constexpr int kReadsAtOnce = 16;

  using Tell = WatchErrors::Tell;
  struct Options {
    Tell error;        // called once per kind of failure
    Tell relief = {};  // called when all paths are watched again
    // The polling interval of paths for which the kernel has no watch or whose file system may not respond.
    std::chrono::milliseconds retry = std::chrono::seconds(10);
    // Tests replace these queries of the kernel and of the mount table.
    Inotify::AddWatch add_watch = ::inotify_add_watch;
    std::function<bool(const std::string& path)> is_remote = {};  // empty: MountWatch::is_remote
  };

  // While no inotify instance is available, all paths are polled.
  DirWatcher(EventLoop& loop, Options options);
  DirWatcher(EventLoop& loop, Tell error) : DirWatcher(loop, Options{.error = std::move(error)}) {}
  ~DirWatcher();
  DirWatcher& operator=(DirWatcher&&) = delete;

  // Watches the entries of `path` whose name matches `pattern` (fnmatch(3); a leading dot is not special).
  // `path` is absolute; the directory may be missing, appear later, lie behind links, and disappear again. A
  // path that leads through a remote mount (mounts.hpp) is not accessed; its callback is called with an empty
  // name every Options::retry. The first call, with an empty name, means that the watch is active: the caller
  // must scan then, and every later change is reported. The callback is never called from within watch().
  std::unique_ptr<DirWatch> watch(const std::filesystem::path& path, std::string pattern,
                                  DirWatch::Callback callback, WatchFor what = WatchFor::kEntries);
  // Examines all paths again, in order to find changes that no event reports.
  void refresh();

 private:
  friend class DirWatch;
  struct Path;  // a watched path with its subscriptions

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
  // Calls the callbacks of the watches that `wanted` selects. A callback may end any subscription: pass a
  // copy of the list.
  template <typename Wanted>
  void notify(const std::vector<DirWatch*>& watches, std::string_view name, Wanted wanted);

  EventLoop& loop_;
  Options options_;
  std::unique_ptr<Inotify> inotify_;  // nullptr: no instance is available
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
