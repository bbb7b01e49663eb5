#include "kubelet/plugins_registry_watch.hpp"

#include <sys/stat.h>

namespace plughost {

namespace fs = std::filesystem;

PluginsRegistryWatch::PluginsRegistryWatch(EventLoop& loop, fs::path directory, Events events)
    : directory_(std::move(directory)),
      events_(std::move(events)),
      watcher_(loop, [this](std::string what) { events_.error(std::move(what)); }),
      first_look_(loop, [this] { look(); }) {
  fs::create_directories(directory_);
  watch_ = watcher_.watch(directory_, "*", [this](std::string_view) { look(); });
  first_look_.arm(std::chrono::milliseconds{0});
}

std::map<std::string, PluginsRegistryWatch::Identity> PluginsRegistryWatch::sockets_there() const {
  std::map<std::string, Identity> there;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    struct stat status {};
    if (name.starts_with('.') || ::stat(entry->path().c_str(), &status) != 0 || !S_ISSOCK(status.st_mode))
      continue;
    // The change time is left out, because a chmod after bind makes no new socket. The modification time is
    // included, because inode numbers are soon reused.
    there.emplace(entry->path(), Identity{status.st_dev, status.st_ino, status.st_mtim});
  }
  return there;
}

void PluginsRegistryWatch::look() {
  auto there = sockets_there();
  there.swap(known_);
  const auto& before = there;
  for (const auto& [path, identity] : before) {
    const auto now = known_.find(path);
    if (now == known_.end() || !(now->second == identity)) events_.went(path);
  }
  for (const auto& [path, identity] : known_) {
    const auto earlier = before.find(path);
    if (earlier == before.end() || !(earlier->second == identity)) events_.came(path);
  }
}

}  // namespace plughost
