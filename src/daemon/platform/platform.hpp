#pragma once
// What the process has of the machine: made once. The references outlive whoever holds a Platform&. Loop
// thread only.

#include <memory>

#include "base/log/log.hpp"
#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/tally.hpp"
#include "base/system/workers.hpp"
#include "host/hardware/host_root.hpp"
#include "host/hardware/udev_monitor.hpp"
#include "host/programs/programs.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/node_watch.hpp"

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
