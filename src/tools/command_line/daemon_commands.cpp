// plughost run, and the subcommands that talk to the running daemon.

#include "base/log/log_history.hpp"
#include "tools/command_line/subcommands.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

void add_control(CLI::App& command, std::string& socket) {
  command
      .add_option("--control", socket,
                  "the daemon's control socket; default: $PLUGHOST_CONTROL, or that of the configuration")
      ->type_name("FILE");
}

CLI::Option* add_level(CLI::App& command, const char* names, auto& level, const char* help) {
  return add_choice<LogLevel>(command, names, level, "log level", "LEVEL", kLogLevels, help);
}

void add_run(Subcommands& commands) {
  const auto [command, options] = commands.add<RunOptions>(
      "run", "run the daemon, which serves the resources of a configuration", &plughost::run);
  add_config(*command, options->config);
  options->control = from_environment("PLUGHOST_CONTROL", "");
  command
      ->add_option("--plugin-directory", options->plugin_directory,
                   "the kubelet's device-plugin directory; overrides the configuration")
      ->type_name("DIR");
  command->add_option("--control", options->control, "the control socket; overrides the configuration")
      ->type_name("FILE");
  command
      ->add_option("--state-directory", options->state_directory,
                   "directory for state that survives a restart")
      ->capture_default_str()
      ->type_name("DIR");
  command
      ->add_option("--take-over", options->take_over,
                   "take over from the daemon with this control socket, if it runs, without a gap")
      ->take_last()
      ->type_name("FILE");
  add_level(*command, "--log-level", options->log_level,
            "minimum level of log lines; overrides the configuration");
  add_choice<LogFormat>(*command, "--log-format", options->log_format, "log format", "FORMAT", kLogFormats,
                        "format of log lines; overrides the configuration");
}

void add_status(Subcommands& commands) {
  const auto [command, options] = commands.add<StatusOptions>(
      "status", "print the daemon's resources and devices, and the pods that hold them", &status);
  CLI::Option* const name = command->add_option("name", options->name, "print the devices of this resource");
  CLI::Option* const watch =
      command->add_flag("-w,--watch", options->watch, "keep running and print each change");
  command
      ->add_flag(
          "--check", options->check,
          "print one line that says whether the node is ready; exit code 0: ready, 1: not ready, 2: unknown")
      ->excludes(name)
      ->excludes(watch);
  command->add_flag("--here", options->here,
                    "fail unless the daemon runs in this container, for a pod's startup probe");
  add_control(*command, options->control);
  add_output(*command, options->format, Formats::kAll);
}

void add_events(Subcommands& commands) {
  const auto [command, options] =
      commands.add<EventsOptions>("events", "print the daemon's last 500 events", &events);
  const auto limit = [told = options](const std::string& text) {
    const auto number = number_in<unsigned>(text, LogHistory::kMost);
    if (!number || *number == 0)
      throw CLI::ValidationError("--limit " + text + " is not a number from 1 to " +
                                 std::to_string(LogHistory::kMost));
    told->limit = *number;
  };
  command->add_option_function<std::string>("-n,--limit", limit, "print only the last N")->option_text("N");
  command->add_option("--since", options->since, "print only those of the last 90s, 10m, 2h …")
      ->type_name("DURATION");
  command->add_option("--resource", options->resource, "print only those of this resource")
      ->type_name("NAME");
  add_level(*command, "--level", options->level, "print only those of this level or above");
  command->add_flag("-f,--follow", options->follow, "keep running and print new events");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void add_reload(Subcommands& commands) {
  const auto [command, options] = commands.add<ReloadOptions>(
      "reload", "reload the daemon's configuration and print what changed", &reload);
  add_level(*command, "--log-level", options->log_level,
            "minimum level of log lines until the next reload; default: the configuration's");
  command
      ->add_option("--try,--confirm", options->trial,
                   "roll back to the former configuration after this time unless --keep keeps the new one")
      ->type_name("DURATION");
  command->add_flag("--keep", options->keep, "do not reload; keep the configuration that is on trial")
      ->excludes("--try")
      ->excludes("--log-level");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void add_upgrade(Subcommands& commands) {
  const auto [command, options] = commands.add<UpgradeOptions>(
      "upgrade", "replace the running daemon by the installed version, without a gap", &upgrade);
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void add_drain(Subcommands& commands) {
  const auto [command, options] = commands.add<DrainOptions>(
      "drain", "take devices out of service, so that no new pod gets them", &drain);
  command->add_option("what", options->what, "the resource and the id of its device, or a whole resource")
      ->required()
      ->option_text("NAME[=ID]");
  command->add_option("--reason", options->reason, "reason, which status shows")->type_name("TEXT");
  command
      ->add_option("--for", options->duration,
                   "return the device to service after this time; default: when it is undrained")
      ->type_name("DURATION");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void add_undrain(Subcommands& commands) {
  const auto [command, options] =
      commands.add<UndrainOptions>("undrain", "return drained devices to service", &undrain);
  CLI::Option* const what =
      command->add_option("what", options->what, "the resource and the id of its device, or a whole resource")
          ->option_text("NAME[=ID]");
  CLI::Option* const unreadable = command->add_flag(
      "--unreadable", options->unreadable,
      "return the devices that are out of service because the drained ones could not be read");
  unreadable->excludes(what);
  command->parse_complete_callback([what, unreadable] {
    if (what->count() + unreadable->count() == 0) throw CLI::RequiredError("NAME[=ID] or --unreadable");
  });
  add_control(*command, options->control);
  add_output(*command, options->format);
}

}  // namespace

void add_daemon_commands(Subcommands& commands) {
  add_run(commands);
  add_status(commands);
  add_events(commands);
  add_reload(commands);
  add_upgrade(commands);
  add_drain(commands);
  add_undrain(commands);
}

}  // namespace plughost
