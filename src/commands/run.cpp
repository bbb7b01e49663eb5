// plughost run: the daemon.

#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <memory>

#include "base/log_line.hpp"
#include "base/signals.hpp"
#include "commands/command.hpp"
#include "commands/daemon.hpp"
#include "config/config.hpp"

namespace plughost {

namespace {

// Each resource takes a few descriptors, and the soft limit is for programs that use select(2).
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const Daemon::Options& options) {
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
  static const std::map<std::string, LogLevel> kLevels{{"debug", LogLevel::kDebug},
                                                       {"info", LogLevel::kInfo},
                                                       {"warn", LogLevel::kWarn},
                                                       {"error", LogLevel::kError}};
  const auto options = std::make_shared<Daemon::Options>();
  options->config = kDefaultConfig;
  CLI::App* command = app.add_subcommand("run", "the daemon: serve the resources of a configuration");
  command->add_option("--config", options->config, "the configuration")->capture_default_str();
  command
      ->add_option("--plugin-directory", options->overrides.plugin_directory,
                   "the kubelet's directory, instead of the configuration's")
      ->type_name("DIR");
  command
      ->add_option("--control", options->overrides.control,
                   "the control service's socket, instead of the configuration's")
      ->type_name("FILE");
  command
      ->add_option("--log-level", options->log_level,
                   "debug, info, warn or error, instead of the configuration's")
      ->transform(CLI::CheckedTransformer(kLevels))
      ->type_name("LEVEL")
      ->option_text("LEVEL");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace plughost
