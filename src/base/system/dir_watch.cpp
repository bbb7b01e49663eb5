#include "base/system/dir_watch.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>

namespace plughost {

namespace {

// Where a process of another user writes without end, others get their turn.
constexpr int kReadsAtOnce = 16;

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || directory.ends_with('/') || path[directory.size()] == '/');
}

}  // namespace

struct DirWatcher::Path {
  std::string name;
  std::vector<DirWatch*> watches;
  Inotify::Owner owner = 0;  // of the placement; 0: there is none yet
  WatchPlacement placement;
  std::shared_ptr<Placing> under_way;
  bool due = false;
  bool again = false;  // something happened while it was under way
  bool moved = false;  // the way to the directory is another than when they were told
  bool starved = false;
  bool hangs = false;  // and that has been told
};

// Owned by the loop and by the thread, which may outlive the watcher.
struct DirWatcher::Placing {
  std::shared_ptr<Inotify> inotify;
  Inotify::Owner owner = 0;
  std::string path;
  Inotify::Owner former = 0;
  std::vector<Inotify::Interest> formerly;
  WatchFor what = WatchFor::kEntries;

  std::mutex mutex;
  std::filesystem::path at;  // what it may hang at

  std::optional<WatchPlacement> found;  // once it has come back
  // The loop's: on time, or not, or not waited for any more.
  enum class Wait { kOnTime, kStuck, kPassedOver } wait = Wait::kOnTime;

  void run(const Place& place) {
    found = place(*inotify, owner, path, what, [this](const std::filesystem::path& step) {
      const std::lock_guard lock(mutex);
      at = step;
    });
    inotify->drop(former, formerly);
  }
  std::string where() {
    const std::lock_guard lock(mutex);
    return at;
  }
};

DirWatch::DirWatch(DirWatcher& watcher, std::string path, std::string pattern, WatchFor what,
                   Callback callback)
    : watcher_(watcher),
      path_(std::move(path)),
      pattern_(std::move(pattern)),
      what_(what),
      callback_(std::move(callback)) {}

DirWatch::~DirWatch() { watcher_.forget(*this); }

DirWatcher::DirWatcher(EventLoop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      errors_(options_.error, options_.relief),
      work_(loop, [this] { work(); }),
      retry_(loop, [this] { poll(); }),
      mounts_(loop,
              [this] {
                pass_over_stuck();
                refresh();
              }),
      workers_(loop, 1) {
  if (!open()) retry_.arm(options_.retry);
}

DirWatcher::~DirWatcher() = default;

bool DirWatcher::open() {
  try {
    auto inotify = std::make_shared<Inotify>();
    io_ = std::make_unique<IoWatch>(loop_, inotify->fd(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
    inotify_ = std::move(inotify);
    return true;
  } catch (const std::system_error& exception) {
    errors_.no_instance(exception);
    return false;
  }
}

std::unique_ptr<DirWatch> DirWatcher::watch(const std::filesystem::path& path, std::string pattern,
                                            DirWatch::Callback callback, WatchFor what) {
  std::unique_ptr<DirWatch> watch(
      new DirWatch(*this, path.string(), std::move(pattern), what, std::move(callback)));
  watches_.insert(watch.get());
  Path& place = path_of(*watch);
  place.watches.push_back(watch.get());
  want(place);
  return watch;
}

DirWatcher::Path& DirWatcher::path_of(const DirWatch& watch) {
  std::unique_ptr<Path>& path = paths_[watch.path_];
  if (!path) path = std::make_unique<Path>(Path{.name = watch.path_});
  return *path;
}

void DirWatcher::forget(DirWatch& watch) {
  watches_.erase(&watch);
  Path& path = path_of(watch);
  std::erase(path.watches, &watch);
  if (!path.watches.empty()) return;
  owners_.erase(path.owner);
  record_starved(path, {});
  if (path.under_way) {  // and what it finds is dropped when it comes back
    owners_.erase(path.under_way->owner);
  } else if (!path.placement.interests.empty()) {
    unwanted_.emplace_back(path.owner, std::move(path.placement.interests));
    soon();
  }
  paths_.erase(watch.path_);
}

void DirWatcher::refresh() {
  if (!inotify_) return poll();
  for (const auto& [name, path] : paths_) want(*path);
}

void DirWatcher::want(Path& path) {
  if (path.under_way) {
    path.again = true;
  } else if (!std::exchange(path.due, true)) {
    due_.push_back(path.name);
    soon();
  }
}

void DirWatcher::want_moved(Path& path) {
  path.moved = true;
  want(path);
}

void DirWatcher::work() {
  if (!unwanted_.empty() && inotify_) {
    workers_.run(
        [inotify = inotify_, unwanted = std::exchange(unwanted_, {})] {
          for (const auto& [owner, interests] : unwanted) inotify->drop(owner, interests);
        },
        [] {}, kDeadline, [] {});
  }
  while (under_way_ < kAtOnce && !due_.empty()) {
    const std::string name = std::move(due_.front());
    due_.pop_front();
    const auto found = paths_.find(name);
    if (found == paths_.end() || !found->second->due) continue;
    if (is_behind_stuck(name)) {
      held_.push_back(name);
      continue;
    }
    found->second->due = false;
    if (inotify_) launch(*found->second);
  }
}

bool DirWatcher::is_behind_stuck(const std::string& path) const {
  return std::ranges::any_of(stuck_, [&](const auto& placing) { return is_below(path, placing->where()); });
}

void DirWatcher::launch(Path& path) {
  const auto placing = std::make_shared<Placing>();
  placing->inotify = inotify_;
  placing->owner = next_owner_++;
  placing->path = path.name;
  placing->former = path.owner;
  placing->formerly = path.placement.interests;
  if (std::ranges::any_of(path.watches,
                          [](const DirWatch* watch) { return watch->what_ == WatchFor::kContents; }))
    placing->what = WatchFor::kContents;
  owners_[placing->owner] = &path;
  path.under_way = placing;
  path.again = false;
  ++under_way_;
  workers_.run([placing, place = options_.place] { placing->run(place); },
               lifetime_.bound([this, placing] { on_placed(placing); }), kDeadline,
               [this, placing] { on_stuck(placing); });
}

void DirWatcher::on_stuck(const std::shared_ptr<Placing>& placing) {
  --under_way_;
  placing->wait = Placing::Wait::kStuck;
  stuck_.push_back(placing);
  soon();
  const auto owner = owners_.find(placing->owner);
  if (owner == owners_.end() || std::exchange(owner->second->hangs, true)) return;
  errors_.hangs(placing->path, placing->where());
}

void DirWatcher::release_held() {
  for (const std::string& name : std::exchange(held_, {})) {
    const auto found = paths_.find(name);
    if (found == paths_.end()) continue;
    found->second->due = false;
    want(*found->second);
  }
}

// What hangs may hang in a file system that has been unmounted, and another may be there now.
void DirWatcher::pass_over_stuck() {
  while (!stuck_.empty() && passed_over_ < kMostPassedOver) {
    const std::shared_ptr<Placing> placing = std::move(stuck_.back());
    stuck_.pop_back();
    placing->wait = Placing::Wait::kPassedOver;
    ++passed_over_;
    const auto owner = owners_.find(placing->owner);
    if (owner == owners_.end()) continue;
    Path& path = *owner->second;
    owners_.erase(owner);
    path.under_way.reset();
    want(path);
  }
  release_held();
}

template <typename Wanted>
void DirWatcher::notify(const std::vector<DirWatch*>& watches, std::string_view name, Wanted wanted) {
  for (DirWatch* watch : watches) {
    if (!watches_.contains(watch) || !wanted(*watch)) continue;
    const auto callback = watch->callback_;
    callback(name);
  }
}

void DirWatcher::on_placed(const std::shared_ptr<Placing>& placing) {
  switch (placing->wait) {
    case Placing::Wait::kOnTime:
      --under_way_;
      break;
    case Placing::Wait::kStuck:
      std::erase(stuck_, placing);
      release_held();
      break;
    case Placing::Wait::kPassedOver:
      --passed_over_;
      break;
  }
  soon();
  const auto owner = owners_.find(placing->owner);
  if (owner == owners_.end()) {  // nobody wants it any more
    unwanted_.emplace_back(placing->owner, std::move(placing->found->interests));
    return;
  }
  Path& path = *owner->second;
  owners_.erase(path.owner);
  const bool moved =
      std::exchange(path.moved, false) || path.placement.interests != placing->found->interests;
  path.owner = placing->owner;
  path.placement = std::move(*placing->found);
  path.under_way.reset();
  if (path.again) want(path);
  if (std::exchange(path.hangs, false)) errors_.answers(path.name);
  record_starved(path, path.placement.starved);
  // What is not watched is polled.
  const bool all = moved || path.placement.starved;
  notify(std::vector(path.watches), "",
         [all](DirWatch& watch) { return !std::exchange(watch.told_, true) || all; });
}

void DirWatcher::record_starved(Path& path, const std::error_code& starved) {
  if (static_cast<bool>(starved) != path.starved) {
    path.starved = !path.starved;
    if (path.starved)
      errors_.starved(path.name, starved);
    else
      errors_.fed();
  }
  if (errors_.any_starved() && !retry_.armed()) retry_.arm(options_.retry);
}

// For what is not watched.
void DirWatcher::poll() {
  if (inotify_) {
    for (const auto& [name, path] : paths_)
      if (path->starved) want(*path);
  } else if (open()) {
    errors_.instance();
    refresh();
  } else {
    retry_.arm(options_.retry);
    notify({watches_.begin(), watches_.end()}, "", [](const DirWatch&) { return true; });
  }
}

void DirWatcher::on_readable() {
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const std::vector<Inotify::Event> events = inotify_->read();
    if (events.empty()) return;
    for (const Inotify::Event& event : events) on_event(event);
  }
}

void DirWatcher::on_event(const Inotify::Event& event) {
  if (event.what == Inotify::What::kLost) {
    for (const auto& [name, path] : paths_) want_moved(*path);
    return;
  }
  const auto owner = owners_.find(event.owner);
  if (owner == owners_.end()) return;
  Path& path = *owner->second;
  if (event.what == Inotify::What::kMoved) return want_moved(path);
  notify(std::vector(path.watches), event.name, [&](const DirWatch& watch) {
    return (event.what == Inotify::What::kEntry || watch.what_ == WatchFor::kContents) &&
           ::fnmatch(watch.pattern_.c_str(), event.name.c_str(), 0) == 0;
  });
}

void WatchErrors::no_instance(const std::system_error& error) {
  if (std::exchange(told_no_instance_, true)) return;
  const bool used_up = error.code() == std::errc::too_many_files_open;
  error_(std::string("no directory can be watched: ") +
         (used_up ? "all inotify instances of this user are taken, raise fs.inotify.max_user_instances"
                  : error.what()) +
         "; until then they are looked at now and then");
}

void WatchErrors::instance() {
  told_no_instance_ = false;
  relieve("directories are watched: there is an inotify instance again");
}

void WatchErrors::starved(const std::string& path, const std::error_code& why) {
  ++starved_;
  if (std::exchange(told_starved_, true)) return;
  const std::string text = why == std::errc::no_space_on_device
                               ? "too many inotify watches for fs.inotify.max_user_watches: raise it"
                               : "no inotify watch is to be had (" + why.message() + ')';
  error_(text + "; until then " + path + " is looked at only now and then");
}

void WatchErrors::fed() {
  if (--starved_ == 0 && std::exchange(told_starved_, false)) relieve("every directory is watched again");
}

void WatchErrors::hangs(const std::string& path, const std::string& where) const {
  error_("the file system at " + where + " does not answer: until it does, " + path + " is not watched");
}

void WatchErrors::answers(const std::string& path) const { relieve(path + " is watched again"); }

void WatchErrors::relieve(const std::string& sentence) const {
  if (relief_) relief_(sentence);
}

// proc(5): the file is 'exceptional' after a change, until somebody polls it.
MountWatch::MountWatch(EventLoop& loop, std::function<void()> callback)
    : mounts_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      timer_(loop, [this, callback = std::move(callback)] {
        told_ = EventLoop::Clock::now();
        callback();
      }) {
  if (mounts_)
    io_ = std::make_unique<IoWatch>(loop, mounts_.get(), EPOLLPRI, [this](std::uint32_t) { on_change(); });
}

void MountWatch::on_change() {
  if (!timer_.armed()) timer_.arm_at(std::max(EventLoop::Clock::now(), told_ + kPause));
}

}  // namespace plughost
