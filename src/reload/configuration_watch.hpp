#pragma once
// Says when the files of the configuration have changed and are quiet again. Loop thread only.

#include <chrono>
#include <functional>
#include <optional>
#include <span>

#include "base/event_loop.hpp"
#include "node/followed_directories.hpp"

namespace plughost {

class ConfigurationWatch {
 public:
  using Clock = EventLoop::Clock;
  // Somebody may be in the middle of writing.
  static constexpr std::chrono::milliseconds kQuiet{200};
  // Where somebody writes without end, it is read all the same.
  static constexpr std::chrono::milliseconds kLongestWait{5000};

  // changed is called in the loop, not from within: also when nothing has changed but that the files are
  // followed from then on. The others outlive it.
  ConfigurationWatch(EventLoop& loop, DirWatcher& watcher, const HostRoot& host,
                     std::function<void()> changed);

  // Where the files are from now on; nothing: they are not followed.
  void follow(std::span<const WatchedDirectory> sources);

 private:
  void on_event();

  std::optional<Clock::time_point> first_;  // event that nobody has been told of
  Timer quiet_;
  FollowedDirectories directories_;
};

}  // namespace plughost
