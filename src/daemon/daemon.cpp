#include "daemon/daemon.hpp"

#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <utility>

#include "kubernetes/kubelet/grpc_setup.hpp"

namespace plughost {
namespace {

constexpr unsigned kWorkers = 4;
constexpr std::chrono::milliseconds kStatusInterval{200};

// Starts this program again, in its present version, as the successor of the daemon with that control socket.
DetachedProgram start_successor(const std::string& control) {
  if (::getpid() == 1)
    throw std::runtime_error(
        "a container ends with its first process, which this is: give its pod a new image");
  std::vector<std::string> command = own_command();
  command.insert(command.end(), {"--take-over", control});
  return start_detached(command, {"WATCHDOG_PID"});
}

const char* const kTakesOver = "a new plughost takes over: try again in a moment";

}  // namespace

Daemon::Daemon(ConfigController::Source source, const std::string& state, Config config,
               std::optional<Predecessor> predecessor)
    : log_(source.level.value_or(config.log.level), config.log.format),
      workers_(loop_, kWorkers),
      computations_(loop_, 1),
      programs_(loop_),
      directories_(loop_, {.error = [this](const std::string& error) { log_.error(error); },
                           .relief = [this](const std::string& relief) { log_.info(relief); }}),
      devices_(loop_, directories_, host_, [this](const std::string& error) { log_.error(error); }),
      api_server_(loop_, workers_, programs_, log_),
      node_watch_(api_server_),
      platform_{loop_,    log_,  workers_, computations_, programs_,  directories_,
                devices_, host_, tallies_, api_server_,   node_watch_},
      signals_(loop_, {SIGHUP, SIGTERM, SIGINT}, [this](int signal) { on_signal(signal); }),
      status_(loop_,
              [this] {
                send_status();
                configuration_->check_provisional();
              }),
      watchdog_(loop_, [this] { feed_watchdog(); }),
      requests_(loop_, log_.history(), *this),
      servers_(loop_, log_, requests_),
      metrics_file_(loop_, workers_, log_, requests_),
      hand_over_(loop_, workers_, log_, *this) {
  route_grpc_log(log_);
  // Starts this thread early: the status must be available even when the machine has no threads left.
  computations_.run([] {}, [] {}, std::chrono::seconds(10), [] {});
  log_.info("plughost " PLUGHOST_VERSION,
            {{"config", source.file}, {"entries", std::to_string(config.resources.size())}});
  for (const Diagnostic& warning : config.warnings) log_.warn(warning.text());
  host_name_ = host_.node_name();
  if (host_name_.empty()) host_name_ = machine_facts(host_).hostname;
  if (predecessor)
    take_over_ = std::make_unique<TakeOver>(loop_, workers_, std::move(*predecessor),
                                            static_cast<TakeOver::Owner&>(*this));
  const auto whole = std::make_shared<const Config>(std::move(config));
  Selection first = not_asked_yet(*whole, {});
  first.kubelet = kubelet_directory(whole->kubelet, host_);
  supervisor_ = std::make_unique<Supervisor>(
      platform_, applying(*whole, first), DrainFile(state), [this] { on_change(); },
      take_over_ ? &take_over_->inheritance() : nullptr);
  configuration_ =
      std::make_unique<ConfigController>(platform_, notifier_, static_cast<Running&>(*this),
                                         std::move(source), whole, std::move(first), [this] { on_change(); });
  if (!take_over_) open_servers();
}

Daemon::~Daemon() { requests_.close(); }

Daemon::End Daemon::run() {
  if (take_over_) {
    log_.info("taking over from the plughost that runs");
  } else {
    notifier_.send("READY=1");
    feed_watchdog();
  }
  loop_.run();
  return end_;
}

void Daemon::open_servers() {
  const TelemetryConfig& telemetry = supervisor_->config().telemetry;
  servers_.open(telemetry);
  metrics_file_.use(telemetry.metrics.textfile);
}

void Daemon::on_signal(int signal) {
  if (signal != SIGHUP)
    stop();
  else if (hand_over_.under_way())
    reload_due_ = true;
  else
    configuration_->reload({}, [](const ReloadAnswer&) {});
}

// A second call stops the loop at once, as does the first while a predecessor serves.
void Daemon::stop() {
  if (std::exchange(stopping_, true) || take_over_) return loop_.stop();
  configuration_->stop();
  notifier_.send("STOPPING=1");
  log_.info("stopping");
  // Ends both in parallel, because each may take some seconds.
  const auto ended = [this, left = std::make_shared<int>(2)] {
    if (--*left == 0) loop_.stop();
  };
  supervisor_->stop(ended);
  metrics_file_.finish(ended);
}

Daemon::Move Daemon::prepare(const TelemetryConfig& config) {
  const auto opened = std::make_shared<Servers::Opened>(servers_.prepare(config));
  return [this, opened] {
    metrics_file_.use(supervisor_->config().telemetry.metrics.textfile);
    return servers_.use(std::move(*opened));
  };
}

void Daemon::on_change() {
  if (!status_.armed()) status_.arm(kStatusInterval);
  if (take_over_) take_over_->on_change();
  requests_.changed();
  metrics_file_.changed();
}

void Daemon::send_status() {
  const Supervisor::Summary summary = supervisor_->summary();
  if (summary == last_summary_ || stopping_ || take_over_) return;
  last_summary_ = summary;
  notifier_.send("STATUS=" + summary.text());
  log_.info(summary.text());
}

void Daemon::feed_watchdog() {
  const auto interval = notifier_.watchdog_interval();
  if (!interval) return;
  notifier_.send("WATCHDOG=1");
  watchdog_.arm(*interval);
}

void Daemon::query_status(WithHolders with, StatusMade done) {
  supervisor_->query_status(with, [this, done = std::move(done)](DaemonStatus status) {
    status.version = PLUGHOST_VERSION;
    status.started_at = started_at_;
    const bool known = status.api_server && !status.api_server->node.empty();
    status.node = known ? status.api_server->node : host_name_;
    status.device_metrics = supervisor_->config().telemetry.metrics.devices;
    status.tallies = {.kubelets = tallies_.kubelets.count(),
                      .udev_events = devices_.events(),
                      .udev_overflows = devices_.overflows(),
                      .warnings = log_.warnings().count(),
                      .errors = log_.errors().count(),
                      .answers = tallies_.answers->read(),
                      .recoveries = tallies_.recoveries.read(),
                      .scans = tallies_.scans.read()};
    status.configuration = configuration_->status();
    done(std::move(status));
  });
}

void Daemon::reload(ReloadOrder order, ReloadDone done) {
  if (hand_over_.under_way()) return done({.errors = {kTakesOver}});
  configuration_->reload(order, std::move(done));
}

void Daemon::drain(DrainOrder order, StatusRequests::DrainDone done) {
  if (hand_over_.under_way()) return done({.error = kTakesOver});
  supervisor_->drain(order, std::move(done));
}

void Daemon::hand_over(HandOverStep step, pid_t by, HandOver::Done done) {
  switch (step) {
    case HandOverStep::kUpgrade:
      return hand_over_.upgrade(
          [control = supervisor_->config().telemetry.control] { return start_successor(control); },
          std::move(done));
    case HandOverStep::kBegin:
      return hand_over_.begin(by, done);
    case HandOverStep::kEnd:
      return hand_over_.end(std::move(done));
    case HandOverStep::kLost:
      return hand_over_.lose();
  }
}

std::string Daemon::objection() const {
  if (stopping_) return "plughost is stopping";
  if (take_over_) return "this plughost has not taken over from its own predecessor yet";
  if (configuration_->status().trial_until)
    return "a configuration is on trial: keep it (plughost reload --keep), or wait until it is rolled back";
  return supervisor_->succession().objection();
}

Inheritance Daemon::inheritance() const {
  Inheritance told = supervisor_->succession().inheritance();
  told.reload = reload_due_;
  return told;
}

void Daemon::leave() {
  stopping_ = true;
  configuration_->stop();
  supervisor_->succession().leave();
  servers_.leave();
}

void Daemon::on_handed_over(pid_t successor, bool started) {
  if (started) notifier_.send("MAINPID=" + std::to_string(successor));
  end_ = started ? End::kStopped : End::kReplaced;
  loop_.stop();
}

void Daemon::on_successor_lost() {
  supervisor_->succession().register_again();
  if (std::exchange(reload_due_, false)) on_signal(SIGHUP);
}

std::string Daemon::missing(const Inheritance& from, bool attached) const {
  return supervisor_->succession().missing(from, configuration_->status().others, attached);
}

void Daemon::on_taken_over(const Inheritance& last) {
  if (stopping_) return;
  try {
    supervisor_->succession().take_over(last);
  } catch (const std::runtime_error& exception) {  // includes std::system_error
    return on_failed(exception.what());
  }
  log_.info("taken over");
  take_over_.reset();
  open_servers();
  notifier_.send("READY=1");
  feed_watchdog();
  on_change();
  if (last.reload) on_signal(SIGHUP);
}

void Daemon::on_failed(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  log_.error("cannot take over: this plughost ends", {{"why", why}});
  end_ = End::kFailed;
  loop_.stop();
}

}  // namespace plughost
