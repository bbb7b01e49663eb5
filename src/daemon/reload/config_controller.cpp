#include "daemon/reload/config_controller.hpp"

#include <algorithm>

namespace plughost {
namespace {

// Pause before a failed roll-back is retried.
constexpr std::chrono::seconds kGiveUpAgain{10};
constexpr std::size_t kMostErrors = 10;  // for the status; the log has all errors

std::vector<std::string> texts_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(diagnostic.text());
  return texts;
}

}  // namespace

ConfigWatch::ConfigWatch(EventLoop& loop, DirWatcher& watcher, const HostRoot& host,
                         std::function<void()> changed)
    : quiet_(loop,
             [this, changed = std::move(changed)] {
               first_.reset();
               changed();
             }),
      directories_(watcher, host, [this] { on_event(); }) {}

void ConfigWatch::follow(std::span<const WatchedDirectory> sources) {
  directories_.follow(sources);
  if (!sources.empty()) return;
  first_.reset();
  quiet_.cancel();
}

void ConfigWatch::on_event() {
  const auto now = Clock::now();
  if (!first_) first_ = now;
  quiet_.arm_at(std::min(now + kQuiet, *first_ + kLongestWait));
}

ConfigReader::ConfigReader(Workers& workers, Log& log, std::string file, Overrides overrides,
                           std::function<void()> returned)
    : log_(log),
      file_(std::move(file)),
      overrides_(std::move(overrides)),
      returned_(std::move(returned)),
      job_(workers, kDeadline) {}

void ConfigReader::read(const Done& done) {
  const auto body = [file = file_, overrides = overrides_] {
    Reading reading;
    try {
      reading.config = std::make_shared<const Config>(load_config(file, overrides));
      reading.files = reading.config->files;
    } catch (const ConfigError& exception) {
      reading.files = exception.files;
      reading.errors = texts_of(exception.diagnostics);
    } catch (const std::exception& exception) {
      reading.errors = {exception.what()};
    }
    return reading;
  };
  job_.run(
      body, [this](Reading reading) { on_read(std::move(reading)); },
      file_ + ": its file system does not answer; reload again when it does",
      [this, done](const std::string& stalled) {
        if (stalled.empty()) return done(std::move(last_));
        if (!std::exchange(hangs_, true))
          log_.error("reading the configuration takes too long", {{"config", file_}});
        done({.files = {}, .config = nullptr, .errors = {stalled}});
      });
}

void ConfigReader::on_read(Reading reading) {
  last_ = std::move(reading);
  if (!std::exchange(hangs_, false)) return;
  log_.info("the configuration can be read again", {{"config", file_}});
  returned_();
}

ConfigController::ConfigController(Platform& platform, const Notifier& notifier, Running& running,
                                   Source source, const std::shared_ptr<const Config>& config,
                                   Selection first, std::function<void()> changed)
    : platform_(platform),
      notifier_(notifier),
      running_(running),
      level_(source.level),
      changed_(std::move(changed)),
      provisional_timer_(platform_.loop, [this] { on_provisional_time(); }),
      reader_(platform_.workers, platform_.log, std::move(source.file), std::move(source.overrides),
              [this] {
                if (running_.config().watch) on_files_changed();
              }),
      files_(config->files),
      watch_(platform_.loop, platform_.directories, platform_.host, [this] { on_files_changed(); }),
      conditions_(platform_, [this](Config part) { on_conditions(std::move(part)); }) {
  conditions_.follow(config, std::move(first));
  follow_files();
}

ConfigStatus ConfigController::status() const {
  const ConfigFiles& files = running_.config().files;
  ConfigStatus told{.hash = files.hash,
                    .loaded_at = loaded_at_,
                    .others = conditions_.selection().others,
                    .refused_at = refused_at_,
                    .errors = errors_,
                    .given_up_at = given_up_at_,
                    .given_up_why = given_up_why_,
                    .reloads_applied = applied_,
                    .reloads_refused = refused_};
  for (const auto& file : files.paths) told.files.push_back(file.string());
  if (provisional_) told.trial_until = provisional_until_;
  return told;
}

void ConfigController::configure_log(const Config& config) {
  platform_.log.configure(asked_level_.value_or(level_.value_or(config.log.level)), config.log.format);
}

void ConfigController::reload(ReloadOrder order, ReloadDone done) {
  queue_.add(order, std::move(done));
  if (queue_.begin()) load();
}

void ConfigController::load() {
  notifier_.send(reloading_message());
  reader_.read([this](ConfigReader::Reading reading) { on_read(std::move(reading)); });
}

void ConfigController::on_files_changed() {
  if (reader_.hangs()) return;
  queue_.add_if_changed();
  if (queue_.begin()) load();
}

void ConfigController::on_read(ConfigReader::Reading reading) {
  const std::shared_ptr<const Config> config = reading.config;
  if (!config) return finish(std::move(reading));
  evaluate_conditions(config, [this, reading = std::move(reading)](Selection selection) {
    finish(reading, std::move(selection));
  });
}

// Evaluates the conditions of a configuration that is about to be applied.
void ConfigController::evaluate_conditions(const std::shared_ptr<const Config>& config,
                                           std::function<void(Selection)> done) {
  const std::vector<ResourceConfig>& running = running_.config().resources;
  if (!has_conditions(*config)) return done(not_asked_yet(*config, running));
  conditions_.evaluate(config, running, std::move(done));
}

void ConfigController::finish(ConfigReader::Reading reading, Selection selection) {
  const ReloadQueue::Batch reload = queue_.end();
  const bool is_needed = !reload.waiting.empty() || reader_.hangs() || !reading.files.same_as(files_);
  if (!reader_.hangs()) files_ = std::move(reading.files);
  std::optional<ReloadAnswer> answer;
  if (is_needed) {
    asked_level_ = reload.order.level;
    answer = apply_or_refuse(std::move(reading), std::move(selection), confirm_of(reload));
    changed_();
  }
  notifier_.send("READY=1");
  follow_files();
  for (const ReloadDone& done : reload.waiting) done(*answer);
  if (queue_.begin()) return load();
  running_.end_former();  // all callers on the former servers have their answers
}

// Returns how long the configuration is on trial. The caller of a reload decides. For a change that the watch
// has found, the configuration in force decides; during a trial, the new files are on trial as well, unless
// they are the files from before the trial.
ConfigController::Confirm ConfigController::confirm_of(const ReloadQueue::Batch& reload) const {
  if (!reload.waiting.empty()) return reload.order.confirm;
  const Config& trusted = provisional_ ? *provisional_->before().config : running_.config();
  if (files_.same_as(trusted.files)) return std::nullopt;
  return provisional_ ? provisional_->duration() : trusted.confirm;
}

void ConfigController::follow_files() {
  const Config& config = running_.config();
  // Watches the sources of the last read, even of a refused one, which may name new sources.
  const auto& sources = files_.sources.empty() ? config.files.sources : files_.sources;
  watch_.follow(config.watch ? std::span<const WatchedDirectory>(sources)
                             : std::span<const WatchedDirectory>());
}

ReloadAnswer ConfigController::apply_or_refuse(ConfigReader::Reading reading, Selection selection,
                                               Confirm confirm) {
  if (stopping_) return refuse({"plughost is stopping"});
  if (!reading.config) return refuse(std::move(reading.errors));
  try {
    return apply(reading.config, std::move(selection), confirm);
  } catch (const std::runtime_error& exception) {
    return refuse({exception.what()});
  }
}

ReloadAnswer ConfigController::refuse(std::vector<std::string> errors) {
  ++refused_;
  refused_at_ = std::chrono::system_clock::now();
  errors_.assign(errors.begin(),
                 errors.begin() + static_cast<std::ptrdiff_t>(std::min(errors.size(), kMostErrors)));
  configure_log(running_.config());
  for (const std::string& error : errors) platform_.log.error(error);
  platform_.log.error("configuration not reloaded: the old one stays in force",
                      {{"errors", std::to_string(errors.size())}});
  if (!stopping_) running_.record_refusal(errors);
  return {.errors = std::move(errors)};
}

ReloadAnswer ConfigController::apply(const std::shared_ptr<const Config>& config, Selection selection,
                                     Confirm confirm) {
  ReloadAnswer answer{.warnings = texts_of(config->warnings)};
  std::optional<ProvisionalConfig> provisional;
  if (confirm) provisional.emplace(way_back(), config->kubelet, *confirm, EventLoop::Clock::now());
  configure_log(*config);
  const Running::Move move = running_.prepare(config->telemetry);
  answer.changes = running_.apply(applying(*config, selection));
  conditions_.follow(config, std::move(selection));
  platform_.log.info("configuration reloaded", {{"added", std::to_string(answer.changes.added.size())},
                                                {"changed", std::to_string(answer.changes.changed.size())},
                                                {"removed", std::to_string(answer.changes.removed.size())},
                                                {"unchanged", std::to_string(answer.changes.unchanged)}});
  for (const std::string& warning : answer.warnings) platform_.log.warn(warning);
  ++applied_;
  loaded_at_ = std::chrono::system_clock::now();
  refused_at_.reset();
  errors_.clear();
  given_up_at_.reset();
  given_up_why_.clear();
  set_provisional(std::move(provisional));
  if (provisional_) {
    answer.trial_until = provisional_until_;
    platform_.log.info("configuration on trial: rolled back unless it is confirmed",
                       {{"seconds", std::to_string(confirm->count())}});
  }
  for (std::string& error : move()) answer.warnings.push_back(std::move(error));
  return answer;
}

// Returns the configuration to roll back to: the present one, or during a trial, the one before the trial.
ProvisionalConfig::Before ConfigController::way_back() const {
  if (provisional_) return provisional_->before();
  const std::shared_ptr<const Config>& whole = conditions_.config();
  return {.config = whole ? whole : std::make_shared<const Config>(running_.config()),
          .loaded_at = loaded_at_,
          .resources = running_.attachments().resources};
}

void ConfigController::set_provisional(std::optional<ProvisionalConfig> provisional) {
  provisional_life_.renew();
  giving_up_ = false;
  roll_back_error_.clear();
  provisional_ = std::move(provisional);
  if (!provisional_) return provisional_timer_.cancel();
  provisional_until_ = std::chrono::system_clock::now() + provisional_->duration();
  provisional_timer_.arm_at(provisional_->due());
}

void ConfigController::on_provisional_time() {
  if (!provisional_ || stopping_) return;
  const std::string why = provisional_->check(running_.attachments(), EventLoop::Clock::now());
  if (!why.empty()) return give_up(why);
  giving_up_ = false;
  provisional_timer_.arm_at(provisional_->due());
}

// Does not wait for a running reload, whose file system may have stalled.
void ConfigController::give_up(const std::string& why) {
  giving_up_ = true;
  provisional_timer_.cancel();
  const std::shared_ptr<const Config> config = provisional_->before().config;
  evaluate_conditions(config, provisional_life_.bound([this, config, why](Selection selection) {
    go_back(config, std::move(selection), why);
  }));
}

void ConfigController::go_back(const std::shared_ptr<const Config>& config, Selection selection,
                               const std::string& why) {
  if (stopping_) return;
  const WallTime loaded_at = provisional_->before().loaded_at;
  try {
    apply(config, std::move(selection), std::nullopt);
  } catch (const std::runtime_error& exception) {
    return on_roll_back_failed(exception.what());
  }
  loaded_at_ = loaded_at;
  given_up_at_ = std::chrono::system_clock::now();
  given_up_why_ = why;
  platform_.log.error("configuration on trial rolled back: the previous one is in force", {{"reason", why}});
  follow_files();
  if (queue_.idle()) running_.end_former();  // a running reload calls this at its end
  changed_();
}

// Called when the roll-back has failed, for example because a port has been taken in the meantime.
void ConfigController::on_roll_back_failed(const std::string& error) {
  configure_log(running_.config());
  provisional_timer_.arm(kGiveUpAgain);
  if (std::exchange(roll_back_error_, error) == error) return;
  platform_.log.error("configuration on trial cannot be rolled back: it stays in force until that succeeds",
                      {{"error", error}});
}

void ConfigController::confirm(const ConfirmDone& done) {
  if (!provisional_ && given_up_at_)
    return done("no configuration is on trial: the last one was rolled back: " + given_up_why_);
  if (!provisional_) return done("no configuration is on trial");
  set_provisional(std::nullopt);
  platform_.log.info("configuration on trial confirmed");
  changed_();
  done("");
}

// Applies a new selection of the configuration in force. The kubelet's directory and the servers stay.
void ConfigController::on_conditions(Config part) {
  if (stopping_) return;
  const Changes changes = running_.apply(std::move(part));
  for (const std::string& name : changes.added)
    platform_.log.info("entry applies to this node now", {{"entry", name}});
  for (const std::string& name : changes.removed) {
    const auto& others = conditions_.selection().others;
    const auto its = std::ranges::find(others, name, &NotHere::name);
    platform_.log.info("entry no longer applies to this node",
                       {{"entry", name}, {"reason", its == others.end() ? "" : its->why}});
  }
}

}  // namespace plughost
