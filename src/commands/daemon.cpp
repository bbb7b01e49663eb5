#include "commands/daemon.hpp"

#include <csignal>
#include <utility>
#include <variant>

#include "kubelet/grpc_log.hpp"

namespace plughost {

namespace {

constexpr unsigned kWorkers = 4;
// A configuration on a file system that hangs is a thing to know of.
constexpr std::chrono::seconds kLoadDeadline{10};
constexpr std::chrono::milliseconds kStatusInterval{200};

std::vector<std::string> texts_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(diagnostic.text());
  return texts;
}

}  // namespace

Overrides overrides_of(const RunOptions& options) {
  return {.plugin_directory = options.plugin_directory, .control = options.control};
}

// What a worker brings back.
struct Daemon::Loaded {
  std::variant<std::monostate, Config, std::vector<std::string>> result;  // or the errors
};

Daemon::Daemon(RunOptions options, Config config)
    : options_(std::move(options)),
      log_(log_level(config), config.log.format),
      workers_(loop_, kWorkers),
      programs_(loop_),
      directories_(loop_, {.trouble = [this](const std::string& trouble) { log_.error(trouble); },
                           .relief = [this](const std::string& relief) { log_.info(relief); }}),
      devices_(loop_, directories_, host_, [this](const std::string& trouble) { log_.error(trouble); }),
      platform_{loop_, log_, workers_, programs_, directories_, devices_, host_, tallies_},
      signals_(loop_, {SIGHUP, SIGTERM, SIGINT}, [this](int signal) { on_signal(signal); }),
      status_(loop_, [this] { send_status(); }),
      watchdog_(loop_, [this] { feed_watchdog(); }),
      requests_(
          loop_, log_.history(),
          {.status = [this](std::function<void(DaemonStatus)> done) { tell_status(std::move(done)); },
           .reload = [this](std::optional<LogLevel> level,
                            StatusRequests::ReloadDone done) { reload(level, std::move(done)); },
           .drain = [this](DrainOrder order,
                           StatusRequests::DrainDone done) { drain(std::move(order), std::move(done)); }}),
      servers_(loop_, log_, requests_),
      metrics_file_(loop_, workers_, log_, requests_) {
  route_grpc_log(log_);
  log_.info("plughost " PLUGHOST_VERSION,
            {{"config", options_.config}, {"entries", std::to_string(config.resources.size())}});
  for (const Diagnostic& warning : config.warnings) log_.warn(warning.text());
  const TelemetryConfig telemetry = config.telemetry;
  supervisor_ = std::make_unique<Supervisor>(platform_, std::move(config),
                                             DrainFile(options_.state_directory), [this] { on_change(); });
  servers_.open(telemetry);
  metrics_file_.use(telemetry.metrics.textfile);
}

Daemon::~Daemon() {
  requests_.close();
}

void Daemon::run() {
  notifier_.send("READY=1");
  feed_watchdog();
  loop_.run();
}

void Daemon::on_signal(int signal) {
  if (signal == SIGHUP)
    reload(std::nullopt, [](const ReloadAnswer&) {});
  else
    stop();
}

// The second time does not wait.
void Daemon::stop() {
  if (std::exchange(stopping_, true)) return loop_.stop();
  notifier_.send("STOPPING=1");
  log_.info("stopping");
  // Side by side: each of them may take some seconds.
  const auto ended = [this, left = std::make_shared<int>(2)] {
    if (--*left == 0) loop_.stop();
  };
  supervisor_->stop(ended);
  metrics_file_.finish(ended);
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

LogLevel Daemon::log_level(const Config& config) const {
  return asked_level_.value_or(options_.log_level.value_or(config.log.level));
}

void Daemon::reload(std::optional<LogLevel> level, StatusRequests::ReloadDone done) {
  reloads_.ask(level, std::move(done));
  if (reloads_.begin()) load();
}

void Daemon::load() {
  notifier_.send(reloading_message());
  const auto loaded = std::make_shared<Loaded>();
  workers_.run(
      [loaded, file = options_.config, overrides = overrides_of(options_)] {
        try {
          loaded->result = load_config(file, overrides);
        } catch (const ConfigError& error) {
          loaded->result = texts_of(error.diagnostics);
        } catch (const std::exception& error) {
          loaded->result = std::vector<std::string>{error.what()};
        }
      },
      [this, loaded] { on_loaded(*loaded); }, kLoadDeadline,
      [this] {
        log_.error("reading the configuration takes too long", {{"config", options_.config}});
      });
}

void Daemon::on_loaded(Loaded& loaded) {
  const ReloadQueue::Batch reload = reloads_.end();
  asked_level_ = reload.level;
  auto* const errors = std::get_if<std::vector<std::string>>(&loaded.result);
  const ReloadAnswer answer = stopping_ ? refuse({"plughost is stopping"})
                              : errors  ? refuse(std::move(*errors))
                                        : apply(std::move(std::get<Config>(loaded.result)));
  notifier_.send("READY=1");
  on_change();
  for (const StatusRequests::ReloadDone& done : reload.waiting) done(answer);
  if (reloads_.begin()) return load();
  servers_.end_former();  // those who asked them are answered
}

ReloadAnswer Daemon::refuse(std::vector<std::string> errors) {
  ++reloads_refused_;
  refused_at_ = std::chrono::system_clock::now();
  log_.configure(log_level(supervisor_->config()), supervisor_->config().log.format);
  for (const std::string& error : errors) log_.error(error);
  log_.error("the configuration was not reloaded: the old one stays in force",
             {{"errors", std::to_string(errors.size())}});
  return {.errors = std::move(errors)};
}

ReloadAnswer Daemon::apply(Config config) {
  const LogConfig log = config.log;
  ReloadAnswer answer{.warnings = texts_of(config.warnings)};
  log_.configure(log_level(config), log.format);
  Servers::Opened servers;
  try {
    servers = servers_.prepare(config.telemetry);
    answer.changes = supervisor_->apply(std::move(config));
  } catch (const std::runtime_error& error) {
    return refuse({error.what()});
  }
  for (const std::string& warning : answer.warnings) log_.warn(warning);
  ++reloads_applied_;
  loaded_at_ = std::chrono::system_clock::now();
  refused_at_.reset();
  metrics_file_.use(supervisor_->config().telemetry.metrics.textfile);
  for (std::string& trouble : servers_.take(std::move(servers)))
    answer.warnings.push_back(std::move(trouble));
  return answer;
}

void Daemon::drain(DrainOrder order, StatusRequests::DrainDone done) {
  supervisor_->drain(std::move(order), std::move(done));
}

void Daemon::tell_status(std::function<void(DaemonStatus)> done) {
  supervisor_->ask_status([this, done = std::move(done)](DaemonStatus status) {
    status.version = PLUGHOST_VERSION;
    status.started_at = started_at_;
    status.configuration.loaded_at = loaded_at_;
    status.configuration.refused_at = refused_at_;
    status.device_metrics = supervisor_->config().telemetry.metrics.devices;
    status.tallies = {.reloads_applied = reloads_applied_,
                      .reloads_refused = reloads_refused_,
                      .kubelets = tallies_.kubelets.count(),
                      .udev_events = devices_.events(),
                      .udev_overflows = devices_.overflows(),
                      .warnings = log_.warnings().count(),
                      .errors = log_.errors().count(),
                      .answers = tallies_.answers->read(),
                      .recoveries = tallies_.recoveries.read(),
                      .scans = tallies_.scans.read()};
    done(std::move(status));
  });
}

}  // namespace plughost
