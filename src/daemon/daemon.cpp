#include "daemon/daemon.hpp"

#include <csignal>
#include <utility>

#include "kubernetes/kubelet/grpc_setup.hpp"

namespace plughost {
namespace {

constexpr unsigned kWorkers = 4;
constexpr std::chrono::milliseconds kStatusInterval{200};

}  // namespace

Daemon::Daemon(ConfigController::Source source, const std::string& state, Config config)
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
      metrics_file_(loop_, workers_, log_, requests_) {
  route_grpc_log(log_);
  // Starts this thread early: the status must be available even when the machine has no threads left.
  computations_.run([] {}, [] {}, std::chrono::seconds(10), [] {});
  log_.info("plughost " PLUGHOST_VERSION,
            {{"config", source.file}, {"entries", std::to_string(config.resources.size())}});
  for (const Diagnostic& warning : config.warnings) log_.warn(warning.text());
  host_name_ = host_.node_name();
  if (host_name_.empty()) host_name_ = machine_facts(host_).hostname;
  const TelemetryConfig telemetry = config.telemetry;
  const auto whole = std::make_shared<const Config>(std::move(config));
  Selection first = not_asked_yet(*whole, {});
  supervisor_ = std::make_unique<Supervisor>(platform_, applying(*whole, first), DrainFile(state),
                                             [this] { on_change(); });
  servers_.open(telemetry);
  metrics_file_.use(telemetry.metrics.textfile);
  configuration_ =
      std::make_unique<ConfigController>(platform_, notifier_, static_cast<Running&>(*this),
                                         std::move(source), whole, std::move(first), [this] { on_change(); });
}

Daemon::~Daemon() { requests_.close(); }

void Daemon::run() {
  notifier_.send("READY=1");
  feed_watchdog();
  loop_.run();
}

void Daemon::on_signal(int signal) {
  if (signal == SIGHUP)
    configuration_->reload({}, [](const ReloadAnswer&) {});
  else
    stop();
}

// A second call stops the loop at once.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) return loop_.stop();
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
  requests_.changed();
  metrics_file_.changed();
}

void Daemon::send_status() {
  const Supervisor::Summary summary = supervisor_->summary();
  if (summary == last_summary_ || stopping_) return;
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

}  // namespace plughost
