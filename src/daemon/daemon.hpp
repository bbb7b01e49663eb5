#pragma once
// The daemon: all objects of `plughost run`, and the order of their start and end. Loop thread only.

#include <memory>
#include <utility>

#include "base/log/log.hpp"
#include "base/system/dir_watch.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/systemd.hpp"
#include "base/system/workers.hpp"
#include "config/config.hpp"
#include "daemon/reload/config_controller.hpp"
#include "daemon/supervisor/supervisor.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "daemon/telemetry/servers.hpp"
#include "daemon/telemetry/status_requests.hpp"
#include "host/programs/programs.hpp"

namespace plughost {

class Daemon final : Running, StatusRequests::Owner {
 public:
  // `config` is the result of load_config() for the source. `state` is the directory for persistent data.
  // SIGHUP, SIGTERM and SIGINT must be blocked in every thread. Throws DirectoryHeld, or std::system_error.
  Daemon(ConfigController::Source source, const std::string& state, Config config);
  ~Daemon() override;
  Daemon& operator=(Daemon&&) = delete;

  // Runs until SIGTERM or SIGINT.
  void run();

 private:
  void on_signal(int signal);
  void stop();
  void on_change();
  void send_status();
  void feed_watchdog();

  void query_status(WithHolders with, StatusMade done) override;
  void reload(ReloadOrder order, ReloadDone done) override { configuration_->reload(order, std::move(done)); }
  void confirm(ConfirmDone done) override { configuration_->confirm(done); }
  void drain(DrainOrder order, StatusRequests::DrainDone done) override {
    supervisor_->drain(order, std::move(done));
  }

  const Config& config() const override { return supervisor_->config(); }
  Changes apply(Config config) override { return supervisor_->apply(std::move(config)); }
  Attachments attachments() const override { return supervisor_->attachments(); }
  void record_refusal(const std::vector<std::string>& errors) override {
    supervisor_->record_refusal(errors);
  }
  Move prepare(const TelemetryConfig& config) override;
  void end_former() override { servers_.end_former(); }

  WallTime started_at_ = std::chrono::system_clock::now();
  std::string host_name_;  // the node's name, unless the API server's configuration has another

  Log log_;
  Notifier notifier_;
  EventLoop loop_;
  HostRoot host_;
  Tallies tallies_;
  Workers workers_;
  Workers computations_;
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
  std::unique_ptr<ConfigController> configuration_;
};

}  // namespace plughost
