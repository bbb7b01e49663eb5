#pragma once
// What the process has of the machine: made once. The references outlive whoever holds a Platform&. Loop
// thread only.

#include <memory>

#include "apiserver/api_server.hpp"
#include "apiserver/node_watch.hpp"
#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/tally.hpp"
#include "base/workers.hpp"
#include "host/host_root.hpp"
#include "host/udev_monitor.hpp"
#include "log/log.hpp"
#include "programs/programs.hpp"

namespace plughost {

// What the process counts for all of its resources. Thread-safe.
struct Tallies {
  std::shared_ptr<Durations> answers = std::make_shared<Durations>();  // to Allocate
  Durations recoveries;  // from a kubelet's coming, or a stream's end, to the open stream
  Durations scans;
  Counter kubelets;  // that came
};

struct Platform {
  EventLoop& loop;
  Log& log;
  Workers& workers;       // for what can block
  Workers& computations;  // one thread, for what takes long and never blocks
  Programs& programs;
  DirWatcher& directories;
  UdevMonitor& devices;
  const HostRoot& host;
  Tallies& tallies;
  ApiServer& api_server;
  NodeWatch& node_watch;
};

}  // namespace plughost
