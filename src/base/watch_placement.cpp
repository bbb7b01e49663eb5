#include "base/watch_placement.hpp"

#include <sys/inotify.h>

#include <deque>

#include "base/kernel_limits.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// On the way to the watched directory: the next component may come, go or be replaced.
constexpr std::uint32_t kOnTheWay = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// A component that is there can only go or be replaced by a rename, and creations around it wake nobody.
constexpr std::uint32_t kPresentOnTheWay = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kEntries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

std::deque<fs::path> components(const fs::path& path) {
  std::deque<fs::path> parts;
  for (const fs::path& part : path) {
    if (part != "/" && !part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

// Walks a path as the kernel would, and watches each directory before it looks into it: whatever changes
// after the look is an event.
class Walk {
 public:
  Walk(Inotify& inotify, Inotify::Owner owner, const AtPath& at)
      : inotify_(inotify), owner_(owner), at_(at) {}

  WatchPlacement run(const fs::path& path, WatchFor what) {
    rest_ = components(path);
    bool reached = true;
    while (reached && !rest_.empty()) reached = step();
    if (reached) add(what == WatchFor::kContents ? kEntries | IN_CLOSE_WRITE : kEntries, "");
    return std::move(placement_);
  }

 private:
  // False: there is no way on.
  bool step() {
    const fs::path name = rest_.front();
    rest_.pop_front();
    if (name == "..") {
      directory_ = directory_.parent_path();
      return true;
    }
    const fs::path next = directory_ / name;
    add(kPresentOnTheWay, name.string());
    fs::file_type type = look(next);
    if (type == fs::file_type::not_found) {
      add(kOnTheWay, name.string());
      type = look(next);  // it may have come before the watch was placed
    }
    if (type == fs::file_type::symlink && ++links_ <= kMostLinks) return follow(next);
    if (type != fs::file_type::directory) return false;
    directory_ = next;
    return true;
  }

  bool follow(const fs::path& link) {
    std::error_code failed;
    const fs::path target = fs::read_symlink(link, failed);
    if (target.is_absolute()) directory_ = "/";
    const std::deque<fs::path> through = components(target);
    rest_.insert(rest_.begin(), through.begin(), through.end());
    return !failed;
  }

  fs::file_type look(const fs::path& path) {
    at_(path);
    std::error_code failed;
    return fs::symlink_status(path, failed).type();
  }

  void add(std::uint32_t mask, const std::string& name) {
    at_(directory_);
    const auto added = inotify_.add(directory_, mask, name, owner_);
    if (const auto* failed = std::get_if<std::error_code>(&added)) {
      if (*failed == std::errc::no_space_on_device || *failed == std::errc::not_enough_memory)
        placement_.starved = *failed;
      return;
    }
    const auto& interest = std::get<Inotify::Interest>(added);
    if (placement_.interests.empty() || placement_.interests.back() != interest)
      placement_.interests.push_back(interest);
  }

  Inotify& inotify_;
  Inotify::Owner owner_;
  const AtPath& at_;
  WatchPlacement placement_;
  fs::path directory_ = "/";
  std::deque<fs::path> rest_;
  int links_ = 0;
};

}  // namespace

WatchPlacement place_watches(Inotify& inotify, Inotify::Owner owner, const fs::path& directory, WatchFor what,
                             const AtPath& at) {
  return Walk(inotify, owner, at).run(directory, what);
}

}  // namespace plughost
