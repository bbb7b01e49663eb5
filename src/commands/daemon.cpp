#include "commands/daemon.hpp"

#include <algorithm>
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
// When the configuration before the one on trial cannot be had back.
constexpr std::chrono::seconds kGiveUpAgain{10};
constexpr std::size_t kMostErrors = 10;  // that the status has; the log has all

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
  ConfigurationFiles files;
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
      status_(loop_,
              [this] {
                send_status();
                if (!giving_up_) look_at_trial();
              }),
      watchdog_(loop_, [this] { feed_watchdog(); }),
      trial_timer_(loop_, [this] { look_at_trial(); }),
      files_(config.files),
      watch_(loop_, directories_, host_, [this] { on_files_changed(); }),
      requests_(
          loop_, log_.history(),
          {.status = [this](std::function<void(DaemonStatus)> done) { tell_status(std::move(done)); },
           .reload = [this](ReloadOrder order,
                            StatusRequests::ReloadDone done) { reload(order, std::move(done)); },
           .keep = [this](const StatusRequests::KeepDone& done) { keep(done); },
           .drain = [this](DrainOrder order,
                           StatusRequests::DrainDone done) { drain(std::move(order), std::move(done)); }}),
      servers_(loop_, log_, requests_),
      metrics_file_(loop_, workers_, log_, requests_) {
  route_grpc_log(log_);
  log_.info("plughost " PLUGHOST_VERSION,
            {{"config", options_.config}, {"entries", std::to_string(config.resources.size())}});
  for (const Diagnostic& warning : config.warnings) log_.warn(warning.text());
  const TelemetryConfig telemetry = config.telemetry;
  const auto whole = std::make_shared<const Config>(std::move(config));
  Selection first = not_asked_yet(*whole, {});
  supervisor_ = std::make_unique<Supervisor>(platform_, applying(*whole, first),
                                             DrainFile(options_.state_directory), [this] { on_change(); });
  conditions_ =
      std::make_unique<Conditions>(platform_, [this](Config part) { on_conditions(std::move(part)); });
  conditions_->follow(whole, std::move(first));
  servers_.open(telemetry);
  follow_files();
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
    reload({}, [](const ReloadAnswer&) {});
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

void Daemon::reload(ReloadOrder order, StatusRequests::ReloadDone done) {
  reloads_.ask(order, std::move(done));
  if (reloads_.begin()) load();
}

void Daemon::load() {
  notifier_.send(reloading_message());
  const auto loaded = std::make_shared<Loaded>();
  workers_.run(
      [loaded, file = options_.config, overrides = overrides_of(options_)] {
        try {
          Config config = load_config(file, overrides);
          loaded->files = config.files;
          loaded->result = std::move(config);
        } catch (const ConfigError& error) {
          loaded->files = error.files;
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

void Daemon::on_files_changed() {
  reloads_.ask_if_changed();
  if (reloads_.begin()) load();
}

void Daemon::on_loaded(Loaded& loaded) {
  if (auto* const errors = std::get_if<std::vector<std::string>>(&loaded.result))
    return finish_reload(std::move(loaded.files), [&](Confirm) { return refuse(std::move(*errors)); });
  const auto config = std::make_shared<const Config>(std::move(std::get<Config>(loaded.result)));
  ask_conditions(config, [this, config](Selection selection) {
    finish_reload(config->files,
                  [&](Confirm confirm) { return apply(config, std::move(selection), confirm); });
  });
}

// Those of a configuration that is to be in force.
void Daemon::ask_conditions(const std::shared_ptr<const Config>& config,
                            std::function<void(Selection)> done) {
  const std::vector<ResourceConfig>& running = supervisor_->config().resources;
  if (!has_conditions(*config)) return done(not_asked_yet(*config, running));
  conditions_->ask(config, running, std::move(done));
}

void Daemon::finish_reload(ConfigurationFiles files,
                           const std::function<ReloadAnswer(Confirm confirm)>& apply_or_refuse) {
  const ReloadQueue::Batch reload = reloads_.end();
  const bool is_needed = !reload.waiting.empty() || !files.same_as(files_);
  files_ = std::move(files);
  std::optional<ReloadAnswer> answer;
  if (is_needed) {
    asked_level_ = reload.order.level;
    answer = stopping_ ? refuse({"plughost is stopping"}) : apply_or_refuse(confirm_of(reload));
    on_change();
  }
  notifier_.send("READY=1");
  follow_files();
  for (const StatusRequests::ReloadDone& done : reload.waiting) done(*answer);
  if (reloads_.begin()) return load();
  servers_.end_former();  // those who asked them are answered
}

// Who asks for a reload says whether it is on trial. Nobody has asked for what the watch has seen: the
// configuration in force says it, and a trial goes on with what takes its place, unless that is what it began
// with.
Daemon::Confirm Daemon::confirm_of(const ReloadQueue::Batch& reload) const {
  if (!reload.waiting.empty()) return reload.order.confirm;
  const Config& trusted = trial_ ? *trial_->before().config : supervisor_->config();
  if (files_.same_as(trusted.files)) return std::nullopt;
  return trial_ ? trial_->duration() : trusted.confirm;
}

void Daemon::follow_files() {
  const Config& config = supervisor_->config();
  // Those of a file that was given up may be left out: it would not be followed.
  const auto& sources = files_.sources.empty() ? config.files.sources : files_.sources;
  watch_.follow(config.watch ? std::span<const WatchedDirectory>(sources)
                             : std::span<const WatchedDirectory>());
}

ReloadAnswer Daemon::refuse(std::vector<std::string> errors) {
  ++reloads_refused_;
  refused_at_ = std::chrono::system_clock::now();
  errors_.assign(errors.begin(),
                 errors.begin() + static_cast<std::ptrdiff_t>(std::min(errors.size(), kMostErrors)));
  log_.configure(log_level(supervisor_->config()), supervisor_->config().log.format);
  for (const std::string& error : errors) log_.error(error);
  log_.error("the configuration was not reloaded: the old one stays in force",
             {{"errors", std::to_string(errors.size())}});
  return {.errors = std::move(errors)};
}

ReloadAnswer Daemon::apply(const std::shared_ptr<const Config>& config, Selection selection,
                           Confirm confirm) {
  ReloadAnswer answer{.warnings = texts_of(config->warnings)};
  std::optional<Trial> trial;
  if (confirm) trial.emplace(way_back(), config->kubelet, *confirm, EventLoop::Clock::now());
  log_.configure(log_level(*config), config->log.format);
  Servers::Opened servers;
  try {
    servers = servers_.prepare(config->telemetry);
    answer.changes = supervisor_->apply(applying(*config, selection));
  } catch (const std::runtime_error& error) {
    return refuse({error.what()});
  }
  conditions_->follow(config, std::move(selection));
  log_.info("configuration reloaded", {{"added", std::to_string(answer.changes.added.size())},
                                       {"changed", std::to_string(answer.changes.changed.size())},
                                       {"removed", std::to_string(answer.changes.removed.size())},
                                       {"unchanged", std::to_string(answer.changes.unchanged)}});
  for (const std::string& warning : answer.warnings) log_.warn(warning);
  ++reloads_applied_;
  loaded_at_ = std::chrono::system_clock::now();
  refused_at_.reset();
  errors_.clear();
  given_up_at_.reset();
  given_up_why_.clear();
  set_trial(std::move(trial));
  if (trial_) {
    answer.trial_until = trial_until_;
    log_.info("the configuration is on trial: it is given up unless somebody keeps it",
              {{"seconds", std::to_string(confirm->count())}});
  }
  metrics_file_.use(supervisor_->config().telemetry.metrics.textfile);
  for (std::string& trouble : servers_.take(std::move(servers)))
    answer.warnings.push_back(std::move(trouble));
  return answer;
}

// What is in force now; while that is on trial, what was before.
Trial::Before Daemon::way_back() const {
  if (trial_) return trial_->before();
  const std::shared_ptr<const Config>& whole = conditions_->config();
  return {.config = whole ? whole : std::make_shared<const Config>(supervisor_->config()),
          .loaded_at = loaded_at_,
          .resources = supervisor_->attachments().resources};
}

void Daemon::set_trial(std::optional<Trial> trial) {
  trial_life_.renew();
  giving_up_ = false;
  trial_ = std::move(trial);
  if (!trial_) return trial_timer_.cancel();
  trial_until_ = std::chrono::system_clock::now() + trial_->duration();
  trial_timer_.arm_at(trial_->due());
}

void Daemon::look_at_trial() {
  if (!trial_ || stopping_) return;
  const std::string why = trial_->look(supervisor_->attachments(), EventLoop::Clock::now());
  if (!why.empty()) return give_up(why);
  giving_up_ = false;
  trial_timer_.arm_at(trial_->due());
}

// A reload that is under way does not hold it up: its file system may hang.
void Daemon::give_up(const std::string& why) {
  giving_up_ = true;
  trial_timer_.cancel();
  const std::shared_ptr<const Config> config = trial_->before().config;
  ask_conditions(config, trial_life_.bound([this, config, why](Selection selection) {
    go_back(config, std::move(selection), why);
  }));
}

void Daemon::go_back(const std::shared_ptr<const Config>& config, Selection selection,
                     const std::string& why) {
  if (stopping_) return;
  const WallTime loaded_at = trial_->before().loaded_at;
  if (const ReloadAnswer answer = apply(config, std::move(selection), std::nullopt); !answer.errors.empty())
    return trial_timer_.arm(kGiveUpAgain);
  loaded_at_ = loaded_at;
  given_up_at_ = std::chrono::system_clock::now();
  given_up_why_ = why;
  log_.error("the configuration on trial is given up: the one before it is in force again",
             {{"reason", why}});
  follow_files();
  if (reloads_.idle()) servers_.end_former();  // else its end is their end
  on_change();
}

void Daemon::keep(const StatusRequests::KeepDone& done) {
  if (giving_up_) return done("the configuration is being given up");
  if (!trial_ && given_up_at_)
    return done("no configuration is on trial: the last one was given up: " + given_up_why_);
  if (!trial_) return done("no configuration is on trial");
  set_trial(std::nullopt);
  log_.info("the configuration on trial is kept");
  on_change();
  done("");
}

// The entries of a configuration that is in force: neither the kubelet's directory nor a server moves.
void Daemon::on_conditions(Config part) {
  if (stopping_) return;
  const Changes changes = supervisor_->apply(std::move(part));
  for (const std::string& name : changes.added) log_.info("the entry applies here now", {{"entry", name}});
  for (const std::string& name : changes.removed) {
    const auto& others = conditions_->selection().others;
    const auto its = std::ranges::find(others, name, &NotHere::name);
    log_.info("the entry does not apply here any more",
              {{"entry", name}, {"reason", its == others.end() ? "" : its->why}});
  }
}

void Daemon::drain(DrainOrder order, StatusRequests::DrainDone done) {
  supervisor_->drain(std::move(order), std::move(done));
}

void Daemon::tell_status(std::function<void(DaemonStatus)> done) {
  supervisor_->ask_status([this, done = std::move(done)](DaemonStatus status) {
    status.version = PLUGHOST_VERSION;
    status.started_at = started_at_;
    status.configuration.others = conditions_->selection().others;
    status.configuration.loaded_at = loaded_at_;
    status.configuration.refused_at = refused_at_;
    status.configuration.errors = errors_;
    if (trial_) status.configuration.trial_until = trial_until_;
    status.configuration.given_up_at = given_up_at_;
    status.configuration.given_up_why = given_up_why_;
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
