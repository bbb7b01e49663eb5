// plughost run: the daemon.

#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <variant>

#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/notify.hpp"
#include "base/signals.hpp"
#include "base/workers.hpp"
#include "commands/command.hpp"
#include "config/config.hpp"
#include "kubelet/grpc_log.hpp"
#include "supervisor/supervisor.hpp"

namespace plughost {

namespace {

struct RunOptions {
  std::string config = kDefaultConfig;
  Overrides overrides;
  std::string log_level;  // empty: the file's
};

constexpr unsigned kWorkers = 4;
// A configuration on a file system that hangs is a thing to know of.
constexpr std::chrono::seconds kLoadDeadline{10};
constexpr std::chrono::milliseconds kStatusInterval{200};

const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::kDebug},
                                              {"info", LogLevel::kInfo},
                                              {"warn", LogLevel::kWarn},
                                              {"error", LogLevel::kError}};

LogLevel level_of(const RunOptions& options, const Config& config) {
  return options.log_level.empty() ? config.log.level : kLevels.at(options.log_level);
}

void log_warnings(Log& log, const Config& config) {
  for (const Diagnostic& warning : config.warnings) log.warn(warning.text());
}

class Daemon {
 public:
  Daemon(const RunOptions& options, Config config)
      : options_(options),
        log_(level_of(options, config), config.log.format),
        workers_(loop_, kWorkers),
        directories_(loop_, [this](const std::string& trouble) { log_.error(trouble); }),
        devices_(loop_, directories_, host_, [this](const std::string& trouble) { log_.error(trouble); }),
        platform_{loop_, log_, workers_, directories_, devices_, host_},
        signals_(loop_, {SIGHUP, SIGTERM, SIGINT}, [this](int signal) { on_signal(signal); }),
        status_(loop_, [this] { send_status(); }),
        watchdog_(loop_, [this] { feed_watchdog(); }) {
    route_grpc_log(log_);
    log_.info("plughost " PLUGHOST_VERSION,
              {{"config", options.config}, {"entries", std::to_string(config.resources.size())}});
    log_warnings(log_, config);
    supervisor_ = std::make_unique<Supervisor>(platform_, std::move(config), [this] {
      if (!status_.armed()) status_.arm(kStatusInterval);
    });
  }

  void run() {
    notifier_.send("READY=1");
    feed_watchdog();
    loop_.run();
  }

 private:
  void on_signal(int signal) {
    if (signal == SIGHUP)
      reload();
    else
      stop();
  }

  // The second time does not wait.
  void stop() {
    if (std::exchange(stopping_, true)) return loop_.stop();
    notifier_.send("STOPPING=1");
    log_.info("stopping");
    supervisor_->stop([this] { loop_.stop(); });
  }

  void reload() {
    if (stopping_) return;
    if (std::exchange(reloading_, true)) {
      reload_again_ = true;
      return;
    }
    notifier_.send(reloading_message());
    using Loaded = std::variant<std::monostate, Config, ConfigError, std::string>;
    const auto loaded = std::make_shared<Loaded>();
    workers_.run(
        [loaded, file = options_.config, overrides = options_.overrides] {
          try {
            *loaded = load_config(file, overrides);
          } catch (const ConfigError& error) {
            *loaded = error;
          } catch (const std::exception& error) {
            *loaded = std::string(error.what());
          }
        },
        [this, loaded] {
          if (stopping_) return;
          if (const auto* errors = std::get_if<ConfigError>(loaded.get())) {
            for (const Diagnostic& each : errors->diagnostics) log_.error(each.text());
            log_.error("the configuration was not reloaded: the old one stays in force",
                       {{"errors", std::to_string(errors->diagnostics.size())}});
          } else if (const auto* error = std::get_if<std::string>(loaded.get())) {
            log_.error("the configuration was not reloaded: the old one stays in force", {{"why", *error}});
          } else {
            apply(std::move(std::get<Config>(*loaded)));
          }
          notifier_.send("READY=1");
          reloading_ = false;
          if (std::exchange(reload_again_, false)) reload();
        },
        kLoadDeadline,
        [this] {
          log_.error("reading the configuration takes too long", {{"config", options_.config}});
        });
  }

  void apply(Config config) {
    log_.configure(level_of(options_, config), config.log.format);
    log_warnings(log_, config);
    try {
      supervisor_->apply(std::move(config));
    } catch (const std::runtime_error& error) {
      log_.error("the configuration was not reloaded: the old one stays in force", {{"why", error.what()}});
    }
  }

  void send_status() {
    const Supervisor::Summary summary = supervisor_->summary();
    if (summary == last_summary_ || stopping_) return;
    last_summary_ = summary;
    notifier_.send("STATUS=" + summary.text());
    log_.info(summary.text());
  }

  void feed_watchdog() {
    const auto interval = notifier_.watchdog_interval();
    if (!interval) return;
    notifier_.send("WATCHDOG=1");
    watchdog_.arm(*interval);
  }

  RunOptions options_;
  Log log_;
  Notifier notifier_;
  EventLoop loop_;
  HostRoot host_;
  Workers workers_;
  DirWatcher directories_;
  UdevMonitor devices_;
  Platform platform_;
  SignalWatch signals_;
  Timer status_;
  Timer watchdog_;
  Supervisor::Summary last_summary_;
  bool reloading_ = false;
  bool reload_again_ = false;
  bool stopping_ = false;
  std::unique_ptr<Supervisor> supervisor_;
};

// Each resource takes a few descriptors, and the soft limit is for programs that use select(2).
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const RunOptions& options) {
  raise_descriptor_limit();
  // One heap: a dozen threads that seldom do anything need no arena each.
  ::mallopt(M_ARENA_MAX, 1);
  // Before the first other thread: gRPC's threads inherit the mask.
  block_signals({SIGHUP, SIGTERM, SIGINT});
  try {
    Daemon(options, load_config(options.config, options.overrides)).run();
    return 0;
  } catch (const ConfigError& error) {
    std::cerr << error.what() << '\n';
  } catch (const std::runtime_error& error) {  // DirectoryHeld and std::system_error among them
    std::cerr << "plughost: " << error.what() << '\n';
  }
  return 1;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "the daemon: serve the resources of a configuration");
  command->add_option("--config", options->config, "the configuration")->capture_default_str();
  command
      ->add_option("--plugin-directory", options->overrides.plugin_directory,
                   "the kubelet's directory, instead of the configuration's")
      ->type_name("DIR");
  command->add_option("--log-level", options->log_level, "instead of the configuration's")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace plughost
