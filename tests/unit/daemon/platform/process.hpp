#pragma once
// The objects through which a process uses its machine: the real ones, on the test's loop.

#include <string>
#include <utility>

#include "daemon/platform/platform.hpp"

namespace plughost::test {

// Release everything that is stalled before this object is destroyed.
struct Process {
  explicit Process(HostRoot machine = HostRoot(), Inotify::AddWatch add_watch = ::inotify_add_watch)
      : directories(loop, {.error = [](const std::string&) {}, .add_watch = std::move(add_watch)}),
        host(std::move(machine)) {}

  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Workers computations{loop, 1};
  Programs programs{loop};
  DirWatcher directories;
  HostRoot host;
  UdevMonitor devices{loop, directories, host, [](const std::string&) {}};
  Tallies tallies;
  ApiServer api_server{loop, workers, programs, log};
  NodeWatch node_watch{api_server};
  Platform platform{loop,    log,  workers, computations, programs,  directories,
                    devices, host, tallies, api_server,   node_watch};
};

}  // namespace plughost::test
