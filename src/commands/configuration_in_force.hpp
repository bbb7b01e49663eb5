#pragma once
// Which configuration is in force: how another one comes to that, on trial or for good, or is refused. Loop
// thread only.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/systemd.hpp"
#include "commands/command.hpp"
#include "config/config.hpp"
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
LogLevel log_level(const RunOptions& options, const Config& config);

class ConfigurationInForce {
 public:
  // What a configuration is for; all of them outlive it.
  struct Parts {
    Platform& platform;
    const Notifier& notifier;
    Supervisor& supervisor;
    Servers& servers;
    MetricsFile& metrics_file;
  };

  // In force at first: that of first runs. changed is called when tell() may say something else.
  ConfigurationInForce(Parts parts, RunOptions options, const std::shared_ptr<const Config>& config,
                       Selection first, std::function<void()> changed);
  ConfigurationInForce& operator=(ConfigurationInForce&&) = delete;

  // done runs in the loop, once, when it is in force or refused.
  void reload(ReloadOrder order, StatusRequests::ReloadDone done);
  // What is on trial stays for good.
  void keep(const StatusRequests::KeepDone& done);
  // The kubelet may have lost a resource: a trial ends by that.
  void look_at_trial();
  // From now on everything is refused.
  void stop() { stopping_ = true; }

  // Fills in what is known here.
  void tell(DaemonStatus& status) const;

 private:
  struct Loaded;
  using Confirm = std::optional<std::chrono::seconds>;  // on trial for so long

  void load();
  void on_loaded(Loaded& loaded);
  void on_files_changed();
  void follow_files();
  void ask_conditions(const std::shared_ptr<const Config>& config, std::function<void(Selection)> done);
  void finish(ConfigurationFiles files, const std::function<ReloadAnswer(Confirm confirm)>& apply_or_refuse);
  Confirm confirm_of(const ReloadQueue::Batch& reload) const;
  ReloadAnswer apply(const std::shared_ptr<const Config>& config, Selection selection, Confirm confirm);
  void on_conditions(Config part);
  ReloadAnswer refuse(std::vector<std::string> errors);
  void configure_log(const Config& config);

  Trial::Before way_back() const;
  void set_trial(std::optional<Trial> trial);
  void on_trial_time();
  void give_up(const std::string& why);
  void go_back(const std::shared_ptr<const Config>& config, Selection selection, const std::string& why);

  Platform& platform_;
  const Notifier& notifier_;
  Supervisor& supervisor_;
  Servers& servers_;
  MetricsFile& metrics_file_;
  RunOptions options_;
  std::function<void()> changed_;
  bool stopping_ = false;

  WallTime loaded_at_ = std::chrono::system_clock::now();
  std::optional<WallTime> refused_at_;
  std::vector<std::string> errors_;  // of what was refused then, the first ones
  std::optional<WallTime> given_up_at_;
  std::string given_up_why_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  std::optional<LogLevel> asked_level_;  // by the last reload

  std::optional<Trial> trial_;  // of what is in force
  WallTime trial_until_;
  Timer trial_timer_;
  bool giving_up_ = false;  // trial_ is over, and the timer tries again
  Lifetime trial_life_;     // trial_'s
  ReloadQueue queue_;
  ConfigurationFiles files_;  // that were read last, whatever became of it
  ConfigurationWatch watch_;
  Conditions conditions_;
};

}  // namespace plughost
