#pragma once
// The process-wide objects for access to the machine, created once. The references must outlive every user of
// a Platform&. Loop thread only.

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

// Counters across all resources. Thread-safe.
struct Tallies {
  std::shared_ptr<Durations> answers = std::make_shared<Durations>();  // times of answers to Allocate
  Durations recoveries;  // from a kubelet's appearance, or a stream's end, to the open stream
  Durations scans;
  Counter kubelets;  // appearances of kubelets
};

struct Platform {
  EventLoop& loop;
  Log& log;
  Workers& workers;       // for blocking jobs
  Workers& computations;  // one thread, for long computations that never block
  Programs& programs;
  DirWatcher& directories;
  UdevMonitor& devices;
  const HostRoot& host;
  Tallies& tallies;
  ApiServer& api_server;
  NodeWatch& node_watch;
};

}  // namespace plughost
