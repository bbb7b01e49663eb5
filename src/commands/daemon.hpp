#pragma once
// The daemon: everything that `plughost run` runs, and in which order it comes and goes. Loop thread only.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "base/log.hpp"
#include "base/notify.hpp"
#include "base/signals.hpp"
#include "base/workers.hpp"
#include "commands/command.hpp"
#include "config/config.hpp"
#include "programs/programs.hpp"
#include "supervisor/conditions.hpp"
#include "supervisor/configuration_watch.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/trial.hpp"
#include "telemetry/metrics_file.hpp"
#include "telemetry/reload_queue.hpp"
#include "telemetry/servers.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

// What the command line says wins over the file.
Overrides overrides_of(const RunOptions& options);

class Daemon {
 public:
  // config is what load_config says of the options. Throws DirectoryHeld, or std::system_error. SIGHUP,
  // SIGTERM and SIGINT are blocked in every thread.
  Daemon(RunOptions options, Config config);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Until SIGTERM or SIGINT.
  void run();

 private:
  struct Loaded;

  void on_signal(int signal);
  void stop();
  void on_change();
  void send_status();
  void feed_watchdog();

  void reload(ReloadOrder order, StatusRequests::ReloadDone done);
  void load();
  void on_loaded(Loaded& loaded);
  void on_files_changed();
  void follow_files();
  using Confirm = std::optional<std::chrono::seconds>;  // on trial for so long
  void ask_conditions(const std::shared_ptr<const Config>& config, std::function<void(Selection)> done);
  void finish_reload(ConfigurationFiles files,
                     const std::function<ReloadAnswer(Confirm confirm)>& apply_or_refuse);
  Confirm confirm_of(const ReloadQueue::Batch& reload) const;
  ReloadAnswer apply(const std::shared_ptr<const Config>& config, Selection selection, Confirm confirm);
  void on_conditions(Config part);
  ReloadAnswer refuse(std::vector<std::string> errors);
  LogLevel log_level(const Config& config) const;

  Trial::Before way_back() const;
  void set_trial(std::optional<Trial> trial);
  void look_at_trial();
  void give_up(const std::string& why);
  void go_back(const std::shared_ptr<const Config>& config, Selection selection, const std::string& why);
  void keep(const StatusRequests::KeepDone& done);

  void drain(DrainOrder order, StatusRequests::DrainDone done);
  void tell_status(std::function<void(DaemonStatus)> done);

  RunOptions options_;
  WallTime started_at_ = std::chrono::system_clock::now();
  WallTime loaded_at_ = started_at_;
  std::optional<WallTime> refused_at_;
  std::vector<std::string> errors_;  // of what was refused then, the first ones
  std::optional<WallTime> given_up_at_;
  std::string given_up_why_;
  std::uint64_t reloads_applied_ = 0;
  std::uint64_t reloads_refused_ = 0;
  std::optional<LogLevel> asked_level_;  // by the last reload

  Log log_;
  Notifier notifier_;
  EventLoop loop_;
  HostRoot host_;
  Tallies tallies_;
  Workers workers_;
  Programs programs_;
  DirWatcher directories_;
  UdevMonitor devices_;
  Platform platform_;
  SignalWatch signals_;
  Timer status_;
  Timer watchdog_;
  Supervisor::Summary last_summary_;
  bool stopping_ = false;
  std::optional<Trial> trial_;  // of what is in force
  WallTime trial_until_;
  Timer trial_timer_;
  bool giving_up_ = false;  // trial_ is over, and the timer tries again
  Lifetime trial_life_;     // trial_'s
  ReloadQueue reloads_;
  ConfigurationFiles files_;  // that were read last, whatever became of it
  ConfigurationWatch watch_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Conditions> conditions_;
  StatusRequests requests_;
  Servers servers_;
  MetricsFile metrics_file_;
};

}  // namespace plughost
