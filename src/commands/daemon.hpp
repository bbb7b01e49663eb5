#pragma once
// The daemon: everything that `plughost run` runs, and in which order it comes and goes. Loop thread only.

#include <functional>
#include <memory>

#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/systemd.hpp"
#include "base/workers.hpp"
#include "commands/command.hpp"
#include "commands/configuration_in_force.hpp"
#include "config/config.hpp"
#include "programs/programs.hpp"
#include "supervisor/supervisor.hpp"
#include "telemetry/metrics_file.hpp"
#include "telemetry/servers.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

class Daemon {
 public:
  // config is what load_config says of the options. Throws DirectoryHeld, or std::system_error. SIGHUP,
  // SIGTERM and SIGINT are blocked in every thread.
  Daemon(RunOptions options, Config config);
  ~Daemon();
  Daemon& operator=(Daemon&&) = delete;

  // Until SIGTERM or SIGINT.
  void run();

 private:
  void on_signal(int signal);
  void stop();
  void on_change();
  void send_status();
  void feed_watchdog();

  void tell_status(WithHolders with, std::function<void(DaemonStatus)> done);

  RunOptions options_;
  WallTime started_at_ = std::chrono::system_clock::now();

  Log log_;
  Notifier notifier_;
  EventLoop loop_;
  HostRoot host_;
  Tallies tallies_;
  Workers workers_;
  Programs programs_;
  DirWatcher directories_;
  UdevMonitor devices_;
  ApiServer api_server_;
  NodeWatch node_watch_;
  Platform platform_;
  SignalWatch signals_;
  Timer status_;
  Timer watchdog_;
  Supervisor::Summary last_summary_;
  bool stopping_ = false;
  std::unique_ptr<Supervisor> supervisor_;
  StatusRequests requests_;
  Servers servers_;
  MetricsFile metrics_file_;
  std::unique_ptr<ConfigurationInForce> configuration_;
};

}  // namespace plughost
