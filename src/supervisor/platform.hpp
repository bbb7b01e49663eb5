#pragma once
// What the process has of the machine: made once. The references outlive whoever holds a Platform&. Loop
// thread only.

#include "apiserver/api_server.hpp"
#include "apiserver/node_watch.hpp"
#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "host/host_root.hpp"
#include "host/udev_monitor.hpp"
#include "programs/programs.hpp"
#include "supervisor/tallies.hpp"

namespace plughost {

struct Platform {
  EventLoop& loop;
  Log& log;
  Workers& workers;
  Programs& programs;
  DirWatcher& directories;
  UdevMonitor& devices;
  const HostRoot& host;
  Tallies& tallies;
  ApiServer& api_server;
  NodeWatch& node_watch;
};

}  // namespace plughost
