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
#include "daemon/handover/hand_over.hpp"
#include "daemon/handover/take_over.hpp"
#include "daemon/reload/config_controller.hpp"
#include "daemon/supervisor/supervisor.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "daemon/telemetry/servers.hpp"
#include "daemon/telemetry/status_requests.hpp"
#include "host/programs/programs.hpp"

namespace plughost {

class Daemon final : Running, StatusRequests::Owner, HandOver::Owner, TakeOver::Owner {
 public:
  enum class End {
    kStopped,
    kFailed,    // a predecessor serves on: the log says why
    kReplaced,  // a successor serves, which this daemon has not started: its process should stay
  };

  // `config` is the result of load_config() for the source. `state` is the directory for persistent data.
  // `predecessor` is the daemon that serves, and from which this one takes over; nullopt: there is none.
  // SIGHUP, SIGTERM and SIGINT must be blocked in every thread. Throws DirectoryHeld, or std::system_error.
  Daemon(ConfigController::Source source, const std::string& state, Config config,
         std::optional<Predecessor> predecessor = std::nullopt);
  ~Daemon() override;
  Daemon& operator=(Daemon&&) = delete;

  // Runs until SIGTERM or SIGINT, or until a successor serves.
  End run();

 private:
  void on_signal(int signal);
  void stop();
  void on_change();
  void send_status();
  void feed_watchdog();

  // Begins to report on the daemon, once it alone serves.
  void open_servers();

  void query_status(WithHolders with, StatusMade done) override;
  void reload(ReloadOrder order, ReloadDone done) override;
  void confirm(ConfirmDone done) override { configuration_->confirm(done); }
  void drain(DrainOrder order, StatusRequests::DrainDone done) override;
  void hand_over(HandOverStep step, pid_t by, HandOver::Done done) override;

  std::string objection() const override;
  Inheritance inheritance() const override;
  bool owes_answer() const override { return supervisor_->succession().owes_answer(); }
  bool overlaps() const override { return supervisor_->succession().overlaps(); }
  void stand_back() override { supervisor_->succession().stand_back(true); }
  void leave() override;
  void on_handed_over(pid_t successor, bool started) override;
  void on_successor_lost() override;

  std::string missing(const Inheritance& from, bool attached) const override;
  void register_beside() override { supervisor_->succession().stand_back(false); }
  void on_taken_over(const Inheritance& last) override;
  void on_failed(const std::string& why) override;

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
  HandOver hand_over_;
  std::unique_ptr<TakeOver> take_over_;  // set while the predecessor serves
  bool reload_due_ = false;              // SIGHUP came while a successor took over
  End end_ = End::kStopped;
};

}  // namespace plughost
