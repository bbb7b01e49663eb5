#include "base/dir_watch.hpp"

#include <fnmatch.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>

namespace plughost {

namespace fs = std::filesystem;

namespace {

// On the way to the watched directory: the next component may come, go or be replaced.
constexpr std::uint32_t kOnTheWay = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// A component that is there can only go or be replaced by a rename, and creations around it wake nobody.
constexpr std::uint32_t kPresentOnTheWay = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kEntries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// As many as the kernel follows in a path.
constexpr int kMostLinks = 40;

std::deque<fs::path> components(const fs::path& path) {
  std::deque<fs::path> parts;
  for (const fs::path& part : path) {
    if (part != "/" && !part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

}  // namespace

DirWatch::DirWatch(DirWatcher& watcher, fs::path path, std::string pattern, Callback callback)
    : watcher_(watcher),
      path_(std::move(path)),
      pattern_(std::move(pattern)),
      callback_(std::move(callback)) {
  watcher_.watches_.insert(this);
  watcher_.place(*this);
}

DirWatch::~DirWatch() {
  watcher_.watches_.erase(this);
  watcher_.withdraw(*this, descriptors_);
}

DirWatcher::DirWatcher(EventLoop& loop, std::function<void(std::string)> trouble)
    : inotify_(check(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1")),
      trouble_(std::move(trouble)),
      io_(loop, inotify_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); }) {}

DirWatcher::~DirWatcher() = default;

std::unique_ptr<DirWatch> DirWatcher::watch(fs::path path, std::string pattern, DirWatch::Callback callback) {
  return std::unique_ptr<DirWatch>(
      new DirWatch(*this, std::move(path), std::move(pattern), std::move(callback)));
}

void DirWatcher::refresh() {
  for (DirWatch* watch : std::vector(watches_.begin(), watches_.end())) place(*watch);
}

// Walks the path as the kernel would, and watches each directory before it looks into it: whatever changes
// after the look is an event.
void DirWatcher::place(DirWatch& watch) {
  const std::vector<int> before = std::move(watch.descriptors_);
  watch.descriptors_.clear();

  const auto add = [&](const fs::path& directory, std::uint32_t mask, std::string name) {
    const int descriptor =
        ::inotify_add_watch(inotify_.get(), directory.c_str(), mask | IN_MASK_ADD | IN_ONLYDIR);
    if (descriptor < 0) {
      if (errno == ENOSPC && !std::exchange(told_limit_, true))
        trouble_("too many inotify watches for fs.inotify.max_user_watches: raise it; until then " +
                 directory.string() + " is looked at only now and then");
      return;
    }
    interests_[descriptor].push_back({&watch, std::move(name)});
    watch.descriptors_.push_back(descriptor);
  };

  fs::path directory = "/";
  std::deque<fs::path> rest = components(watch.path_);
  int links = 0;
  bool reached = true;
  while (!rest.empty()) {
    const fs::path name = rest.front();
    rest.pop_front();
    if (name == "..") {
      directory = directory.parent_path();
      continue;
    }
    const fs::path next = directory / name;
    add(directory, kPresentOnTheWay, name.string());
    std::error_code error;
    fs::file_status status = fs::symlink_status(next, error);
    if (status.type() == fs::file_type::not_found) {
      add(directory, kOnTheWay, name.string());
      status = fs::symlink_status(next, error);  // it may have come before the watch was placed
    }
    if (status.type() == fs::file_type::symlink && ++links <= kMostLinks) {
      const fs::path target = fs::read_symlink(next, error);
      if (target.is_absolute()) directory = "/";
      std::deque<fs::path> through = components(target);
      rest.insert(rest.begin(), through.begin(), through.end());
    } else if (status.type() == fs::file_type::directory) {
      directory = next;
    } else {
      reached = false;
      break;
    }
  }
  if (reached) add(directory, kEntries, "");
  withdraw(watch, before);
}

void DirWatcher::withdraw(DirWatch& watch, const std::vector<int>& descriptors) {
  for (const int descriptor : descriptors) {
    const auto found = interests_.find(descriptor);
    if (found == interests_.end()) continue;
    std::vector<Interest>& all = found->second;
    // The oldest of this watch's interests: a newer one may have been placed on the same directory meanwhile.
    const auto mine = std::ranges::find(all, &watch, &Interest::watch);
    if (mine != all.end()) all.erase(mine);
    if (all.empty()) {
      ::inotify_rm_watch(inotify_.get(), descriptor);
      interests_.erase(found);
    }
  }
}

void DirWatcher::on_readable() {
  alignas(inotify_event) std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t length = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (length <= 0) return;  // EAGAIN: drained
    for (const char* at = buffer.data(); at < buffer.data() + length;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0)
        on_overflow();
      else
        on_event(event->wd, event->mask, event->len > 0 ? std::string_view(event->name) : std::string_view());
    }
  }
}

void DirWatcher::on_event(int descriptor, std::uint32_t mask, std::string_view name) {
  const auto found = interests_.find(descriptor);
  if (found == interests_.end()) return;

  std::set<DirWatch*> moved;    // the way to the directory is another now
  std::set<DirWatch*> changed;  // an entry came or went
  for (const Interest& interest : found->second) {
    if ((mask & (IN_IGNORED | IN_UNMOUNT)) != 0 || (!interest.name.empty() && interest.name == name))
      moved.insert(interest.watch);
    else if (interest.name.empty() && (mask & kEntries) != 0 &&
             ::fnmatch(interest.watch->pattern_.c_str(), std::string(name).c_str(), 0) == 0)
      changed.insert(interest.watch);
  }
  if ((mask & IN_IGNORED) != 0) interests_.erase(found);  // the kernel has removed the watch

  // A callback may destroy any watch: look each up again before it is used.
  for (DirWatch* watch : moved) {
    if (!watches_.contains(watch)) continue;
    place(*watch);
    const auto callback = watch->callback_;
    callback("");
  }
  for (DirWatch* watch : changed) {
    if (!watches_.contains(watch)) continue;
    const auto callback = watch->callback_;
    callback(name);
  }
}

void DirWatcher::on_overflow() {
  for (DirWatch* watch : std::vector(watches_.begin(), watches_.end())) {
    if (!watches_.contains(watch)) continue;
    place(*watch);
    const auto callback = watch->callback_;
    callback("");
  }
}

}  // namespace plughost
