#include "base/system/inotify.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/system/files.hpp"

namespace plughost {

Inotify::Inotify() : fd_(check(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1")) {}

std::variant<Inotify::Interest, std::error_code> Inotify::add(const std::filesystem::path& directory,
                                                              std::uint32_t mask, const std::string& name,
                                                              Owner owner) {
  const auto watch = [&] {
    return ::inotify_add_watch(fd_.get(), directory.c_str(), mask | IN_MASK_ADD | IN_ONLYDIR);
  };
  for (;;) {
    const Interest interest{.descriptor = watch(), .name = name};
    if (interest.descriptor < 0) return std::error_code(errno, std::generic_category());
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      Directory& known = directories_[interest.descriptor];
      first = known.empty();
      known[name].insert(owner);
    }
    // The watch of somebody who has just dropped it may be gone again by the time of the entry above: from
    // here on nobody would remove it.
    if (!first || watch() == interest.descriptor) return interest;
    drop(owner, {interest});
  }
}

void Inotify::drop(Owner owner, const std::vector<Interest>& interests) {
  std::vector<int> unwanted;
  {
    const std::lock_guard lock(mutex_);
    for (const Interest& interest : interests) {
      const auto directory = directories_.find(interest.descriptor);
      if (directory == directories_.end()) continue;
      const auto owners = directory->second.find(interest.name);
      if (owners == directory->second.end()) continue;
      owners->second.erase(owner);
      if (owners->second.empty()) directory->second.erase(owners);
      if (!directory->second.empty()) continue;
      directories_.erase(directory);
      unwanted.push_back(interest.descriptor);
    }
  }
  // Should somebody have come to want it in between, the kernel's IN_IGNORED tells him.
  for (const int descriptor : unwanted) ::inotify_rm_watch(fd_.get(), descriptor);
}

std::vector<Inotify::Event> Inotify::read() {
  std::vector<Event> events;
  alignas(inotify_event) std::array<char, 16384> buffer;
  const ssize_t length = ::read(fd_.get(), buffer.data(), buffer.size());
  if (length <= 0) return events;  // EAGAIN: drained
  const std::lock_guard lock(mutex_);
  for (const char* at = buffer.data(); at < buffer.data() + length;) {
    const auto* event = reinterpret_cast<const inotify_event*>(at);
    at += sizeof(inotify_event) + event->len;
    if ((event->mask & IN_Q_OVERFLOW) != 0)
      events.push_back({.what = What::kLost, .owner = 0, .name = {}});
    else
      receive(event->wd, event->mask, event->len > 0 ? event->name : "", events);
  }
  return events;
}

void Inotify::receive(int descriptor, std::uint32_t mask, const std::string& name,
                      std::vector<Event>& events) {
  const auto found = directories_.find(descriptor);
  if (found == directories_.end()) return;
  Directory& directory = found->second;
  if ((mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
    for (const auto& [entry, owners] : directory)
      for (const Owner owner : owners) events.push_back({.what = What::kMoved, .owner = owner, .name = {}});
    if ((mask & IN_IGNORED) != 0) directories_.erase(found);  // the kernel has removed the watch
    return;
  }
  if (name.empty()) return;
  const bool written = (mask & IN_CLOSE_WRITE) != 0;
  if (const auto way = directory.find(name); way != directory.end() && !written)
    for (const Owner owner : way->second)
      events.push_back({.what = What::kMoved, .owner = owner, .name = {}});
  if (const auto all = directory.find(""); all != directory.end())
    for (const Owner owner : all->second)
      events.push_back({.what = written ? What::kWritten : What::kEntry, .owner = owner, .name = name});
}

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
