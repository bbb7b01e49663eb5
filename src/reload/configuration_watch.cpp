#include "reload/configuration_watch.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

ConfigurationWatch::ConfigurationWatch(EventLoop& loop, DirWatcher& watcher, const HostRoot& host,
                                       std::function<void()> changed)
    : quiet_(loop,
             [this, changed = std::move(changed)] {
               first_.reset();
               changed();
             }),
      directories_(watcher, host, [this] { on_event(); }) {}

void ConfigurationWatch::follow(std::span<const WatchedDirectory> sources) {
  directories_.follow(sources);
  if (!sources.empty()) return;
  first_.reset();
  quiet_.cancel();
}

void ConfigurationWatch::on_event() {
  const auto now = Clock::now();
  if (!first_) first_ = now;
  quiet_.arm_at(std::min(now + kQuiet, *first_ + kLongestWait));
}

}  // namespace plughost
