#pragma once
// What the process has of the machine: made once. The references outlive whoever holds a Platform&. Loop
// thread only.

#include "base/descriptor_store.hpp"
#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "host/host_root.hpp"
#include "host/udev_monitor.hpp"
#include "platform/api_server.hpp"
#include "platform/node_watch.hpp"
#include "programs/programs.hpp"
#include "status/tallies.hpp"

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
  DescriptorStore& descriptors;
};

}  // namespace plughost
