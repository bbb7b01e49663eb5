#pragma once
// The kubelet's plugin watcher: finds sockets in plugins_registry. Loop thread only.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"

namespace plughost {

class PluginsRegistryWatch {
 public:
  struct Events {
    std::function<void(const std::filesystem::path& socket)> came;
    std::function<void(const std::filesystem::path& socket)> went;
    std::function<void(std::string)> error;
  };

  // Reports existing sockets first, later in the loop. Creates the directory if necessary. `loop` must
  // outlive this object. Throws std::system_error.
  PluginsRegistryWatch(EventLoop& loop, std::filesystem::path directory, Events events);

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
    timespec made;

    bool operator==(const Identity& other) const {
      return device == other.device && inode == other.inode && made.tv_sec == other.made.tv_sec &&
             made.tv_nsec == other.made.tv_nsec;
    }
  };
  std::map<std::string, Identity> sockets_there() const;
  void look();

  std::filesystem::path directory_;
  Events events_;
  std::map<std::string, Identity> known_;
  DirWatcher watcher_;
  std::unique_ptr<DirWatch> watch_;
  Timer first_look_;
};

}  // namespace plughost
