#pragma once
// Changes in directories, by inotify: one instance for the whole process (a user may have only 128). What
// may hang with a file system is done on a thread of its own. Loop thread only.

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
#include "base/system/workers.hpp"

namespace plughost {

// Changes in directories, by inotify: one instance for the whole process (a user may have only 128). What
// may hang with a file system is done on a thread of its own. Loop thread only.

// Tells when something is mounted or unmounted where this process can see it. Loop thread only.
class MountWatch {
 public:
  // Mounts come in crowds: it calls back once for those that come within this.
  static constexpr std::chrono::milliseconds kPause{500};

  // Where there is no /proc nothing is told. The loop outlives it.
  MountWatch(EventLoop& loop, std::function<void()> callback);

 private:
  void on_change();

  UniqueFd mounts_;
  EventLoop::Clock::time_point told_{};
  Timer timer_;
  std::unique_ptr<IoWatch> io_;
};

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
  void hangs(const std::string& path, const std::string& where) const;
  void answers(const std::string& path) const;
  bool any_starved() const { return starved_ > 0; }

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
  // A file system that takes longer to answer has the others wait no longer.
  static constexpr std::chrono::seconds kDeadline{2};
  // Paths that are under way to the thread at once: a turn of the loop is short, however many are due.
  static constexpr unsigned kAtOnce = 16;
  // Threads that hang in file systems that may not be there any more.
  static constexpr unsigned kMostPassedOver = 8;

  using Tell = WatchErrors::Tell;
  using Place = std::function<decltype(place_watches)>;
  struct Options {
    Tell error;        // something is not watched: once per kind, and once for each path that hangs
    Tell relief = {};  // it is watched again
    // What the kernel has no watch for is looked at so often, and asked for again.
    std::chrono::milliseconds retry = std::chrono::seconds(10);
    Place place = place_watches;
  };

  // Without an inotify instance it polls until there is one.
  DirWatcher(EventLoop& loop, Options options);
  DirWatcher(EventLoop& loop, Tell error) : DirWatcher(loop, Options{.error = std::move(error)}) {}
  ~DirWatcher();
  DirWatcher& operator=(DirWatcher&&) = delete;

  // Watches the entries of path whose name matches pattern (fnmatch(3); a leading dot is not special). path
  // is absolute; it need not exist, may come later, may be a link or lie behind links, may vanish and come
  // again. The first call, with an empty name, says that the watch is in force: whoever scans has to scan
  // then, and what changes from then on is told. Nothing is called from within.
  std::unique_ptr<DirWatch> watch(const std::filesystem::path& path, std::string pattern,
                                  DirWatch::Callback callback, WatchFor what = WatchFor::kEntries);
  // Looks again at every path, for what no event tells, and calls back where something is another.
  void refresh();

 private:
  friend class DirWatch;
  struct Path;     // one that is watched, by as many as want to
  struct Placing;  // a look at it, on the thread

  bool open();
  Path& path_of(const DirWatch& watch);
  void forget(DirWatch& watch);
  void want(Path& path);
  void want_moved(Path& path);
  void soon() {
    if (!work_.armed()) work_.arm(EventLoop::Clock::duration::zero());
  }
  void work();
  void launch(Path& path);
  bool is_behind_stuck(const std::string& path) const;
  void on_stuck(const std::shared_ptr<Placing>& placing);
  void on_placed(const std::shared_ptr<Placing>& placing);
  void release_held();
  void pass_over_stuck();
  void record_starved(Path& path, const std::error_code& starved);
  void on_readable();
  void on_event(const Inotify::Event& event);
  void poll();
  // A callback may end any watch, and a list of them with it: hand in a copy.
  template <typename Wanted>
  void notify(const std::vector<DirWatch*>& watches, std::string_view name, Wanted wanted);

  EventLoop& loop_;
  Options options_;
  std::shared_ptr<Inotify> inotify_;  // nullptr: none is to be had
  std::unordered_set<DirWatch*> watches_;
  std::map<std::string, std::unique_ptr<Path>> paths_;
  std::unordered_map<Inotify::Owner, Path*> owners_;
  Inotify::Owner next_owner_ = 1;
  std::deque<std::string> due_;
  std::vector<std::string> held_;  // behind a directory that does not answer
  std::vector<std::shared_ptr<Placing>> stuck_;
  std::vector<std::pair<Inotify::Owner, std::vector<Inotify::Interest>>> unwanted_;
  unsigned under_way_ = 0;  // without those that are stuck
  unsigned passed_over_ = 0;
  WatchErrors errors_;
  Timer work_;
  Timer retry_;
  std::unique_ptr<IoWatch> io_;
  MountWatch mounts_;
  Workers workers_;
  Lifetime lifetime_;
};

}  // namespace plughost
