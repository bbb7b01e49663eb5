#include "base/system/dir_watch.hpp"

#include <fnmatch.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>

namespace plughost {

struct DirWatcher::Path {
  std::string name;
  Inotify::Owner owner = 0;
  std::vector<DirWatch*> watches = {};
  WatchPlacement placement = {};
  bool due = false;
  bool moved = false;  // the way to the directory has changed since the watches were notified
  bool starved = false;
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
      mounts_(loop, [this] { refresh(); }) {
  if (!options_.is_remote)
    options_.is_remote = [this](const std::string& path) { return mounts_.is_remote(path); };
  if (!open()) retry_.arm(options_.retry);
}

DirWatcher::~DirWatcher() = default;

bool DirWatcher::open() {
  try {
    auto inotify = std::make_unique<Inotify>(options_.add_watch);
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
  if (!path) {
    path = std::make_unique<Path>(Path{.name = watch.path_, .owner = next_owner_++});
    owners_[path->owner] = path.get();
  }
  return *path;
}

void DirWatcher::forget(DirWatch& watch) {
  watches_.erase(&watch);
  Path& path = path_of(watch);
  std::erase(path.watches, &watch);
  if (!path.watches.empty()) return;
  owners_.erase(path.owner);
  record_starved(path, {});
  if (inotify_) inotify_->drop(path.owner, path.placement.interests);
  paths_.erase(watch.path_);
}

void DirWatcher::refresh() {
  if (!inotify_) return poll();
  for (const auto& [name, path] : paths_) want(*path);
}

void DirWatcher::want(Path& path) {
  if (std::exchange(path.due, true)) return;
  due_.push_back(path.name);
  if (!work_.armed()) work_.arm(EventLoop::Clock::duration::zero());
}

void DirWatcher::want_moved(Path& path) {
  path.moved = true;
  want(path);
}

void DirWatcher::work() {
  for (unsigned placed = 0; placed < kAtOnce && !due_.empty();) {
    const std::string name = std::move(due_.front());
    due_.pop_front();
    const auto found = paths_.find(name);
    if (found == paths_.end() || !std::exchange(found->second->due, false) || !inotify_) continue;
    place(*found->second);
    ++placed;
  }
  if (!due_.empty()) work_.arm(EventLoop::Clock::duration::zero());
}

template <typename Wanted>
void DirWatcher::notify(const std::vector<DirWatch*>& watches, std::string_view name, Wanted wanted) {
  for (DirWatch* watch : watches) {
    if (!watches_.contains(watch) || !wanted(*watch)) continue;
    const auto callback = watch->callback_;
    callback(name);
  }
}

void DirWatcher::place(Path& path) {
  const bool contents = std::ranges::any_of(
      path.watches, [](const DirWatch* watch) { return watch->what_ == WatchFor::kContents; });
  const WatchPlacement former = std::exchange(
      path.placement, place_watches(*inotify_, path.owner, path.name,
                                    contents ? WatchFor::kContents : WatchFor::kEntries, options_.is_remote));
  const WatchPlacement& now = path.placement;
  const bool moved =
      std::exchange(path.moved, false) || now.interests != former.interests || now.remote != former.remote;
  std::vector<Inotify::Interest> unwanted = former.interests;
  std::erase_if(unwanted, [&](const Inotify::Interest& each) {
    return std::ranges::find(now.interests, each) != now.interests.end();
  });
  inotify_->drop(path.owner, unwanted);
  record_starved(path, now.starved);
  if ((now.starved || now.remote) && !retry_.armed()) retry_.arm(options_.retry);
  // Each placement of a path without a watch is a poll, and any entry may have changed since the last poll.
  const bool all = moved || now.starved;
  notify(std::vector(path.watches), "",
         [all](DirWatch& watch) { return !std::exchange(watch.told_, true) || all; });
}

void DirWatcher::record_starved(Path& path, const std::error_code& starved) {
  if (static_cast<bool>(starved) == path.starved) return;
  path.starved = !path.starved;
  if (path.starved)
    errors_.starved(path.name, starved);
  else
    errors_.fed();
}

// Polls the paths that have no watch. If there is no inotify instance, tries to open one first.
void DirWatcher::poll() {
  if (inotify_) {
    for (const auto& [name, path] : paths_)
      if (path->starved || path->placement.remote) want_moved(*path);
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
         "; until then they are polled");
}

void WatchErrors::instance() {
  told_no_instance_ = false;
  if (relief_) relief_("directories are watched: there is an inotify instance again");
}

void WatchErrors::starved(const std::string& path, const std::error_code& why) {
  ++starved_;
  if (std::exchange(told_starved_, true)) return;
  const std::string text = why == std::errc::no_space_on_device
                               ? "too many inotify watches for fs.inotify.max_user_watches: raise it"
                               : "no inotify watch is to be had (" + why.message() + ')';
  error_(text + "; until then " + path + " is only polled");
}

void WatchErrors::fed() {
  const bool ends = --starved_ == 0 && std::exchange(told_starved_, false);
  if (ends && relief_) relief_("every directory is watched again");
}

}  // namespace plughost
