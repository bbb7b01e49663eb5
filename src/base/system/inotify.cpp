#include "base/system/inotify.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/system/files.hpp"

namespace plughost {

Inotify::Inotify(AddWatch add_watch)
    : add_watch_(std::move(add_watch)),
      fd_(check(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK), "inotify_init1")) {}

std::variant<Inotify::Interest, std::error_code> Inotify::add(const std::filesystem::path& directory,
                                                              std::uint32_t mask, const std::string& name,
                                                              Owner owner) {
  const int descriptor = add_watch_(fd_.get(), directory.c_str(), mask | IN_MASK_ADD | IN_ONLYDIR);
  if (descriptor < 0) return std::error_code(errno, std::generic_category());
  directories_[descriptor][name].insert(owner);
  return Interest{.descriptor = descriptor, .name = name};
}

void Inotify::drop(Owner owner, const std::vector<Interest>& interests) {
  for (const Interest& interest : interests) {
    const auto directory = directories_.find(interest.descriptor);
    if (directory == directories_.end()) continue;
    const auto owners = directory->second.find(interest.name);
    if (owners == directory->second.end()) continue;
    owners->second.erase(owner);
    if (owners->second.empty()) directory->second.erase(owners);
    if (!directory->second.empty()) continue;
    directories_.erase(directory);
    ::inotify_rm_watch(fd_.get(), interest.descriptor);
  }
}

std::vector<Inotify::Event> Inotify::read() {
  std::vector<Event> events;
  alignas(inotify_event) std::array<char, 16384> buffer;
  const ssize_t length = ::read(fd_.get(), buffer.data(), buffer.size());
  if (length <= 0) return events;  // EAGAIN: no more events
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
using IsRemote = std::function<bool(const std::string& path)>;

// Events of directories on the way: the next component appears, disappears or is replaced.
constexpr std::uint32_t kOnTheWay = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// An existing component can only disappear or be replaced by a rename. Creations around it are not reported.
constexpr std::uint32_t kPresentOnTheWay = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kEntries = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

std::deque<fs::path> components(const fs::path& path) {
  std::deque<fs::path> parts;
  for (const fs::path& part : path) {
    if (part != "/" && !part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

// Walks a path as the kernel does. Each directory is watched before it is examined, so that every later
// change is an event.
class Walk {
 public:
  Walk(Inotify& inotify, Inotify::Owner owner, const IsRemote& is_remote)
      : inotify_(inotify), owner_(owner), is_remote_(is_remote) {}

  WatchPlacement run(const fs::path& path, WatchFor what) {
    rest_ = components(path);
    bool reached = true;
    while (reached && !rest_.empty()) reached = step();
    if (reached) add(what == WatchFor::kContents ? kEntries | IN_CLOSE_WRITE : kEntries, "");
    return std::move(placement_);
  }

 private:
  // Walks the next component of the path. Returns false if the walk ends before the directory.
  bool step() {
    const fs::path name = rest_.front();
    rest_.pop_front();
    if (name == "..") {
      directory_ = directory_.parent_path();
      return true;
    }
    const fs::path next = directory_ / name;
    add(kPresentOnTheWay, name.string());
    placement_.remote = is_remote_(next);
    if (placement_.remote) return false;
    fs::file_type type = look(next);
    if (type == fs::file_type::not_found) {
      add(kOnTheWay, name.string());
      type = look(next);  // the entry may have appeared before the watch was added
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

  static fs::file_type look(const fs::path& path) {
    std::error_code failed;
    return fs::symlink_status(path, failed).type();
  }

  void add(std::uint32_t mask, const std::string& name) {
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
  const IsRemote& is_remote_;
  WatchPlacement placement_;
  fs::path directory_ = "/";
  std::deque<fs::path> rest_;
  int links_ = 0;
};

}  // namespace

WatchPlacement place_watches(Inotify& inotify, Inotify::Owner owner, const fs::path& directory, WatchFor what,
                             const IsRemote& is_remote) {
  return Walk(inotify, owner, is_remote).run(directory, what);
}

}  // namespace plughost
