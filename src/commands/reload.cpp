// plughost reload: SIGHUP with an answer.

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/output.hpp"
#include "config/config.hpp"
#include "telemetry/control_client.hpp"
#include "telemetry/status_json.hpp"

namespace plughost {

namespace {

struct ReloadOptions {
  std::string control = kControlSocket;
  std::string log_level;
  OutputFormat format = OutputFormat::kTable;
};

void print_answer(const v1::ReloadResponse& answer) {
  for (const std::string& warning : answer.warnings()) std::cerr << "warning: " << warning << '\n';
  for (const std::string& error : answer.errors()) std::cerr << error << '\n';
  if (answer.errors_size() > 0) {
    std::cerr << "nothing has changed: the old configuration stays in force\n";
    return;
  }
  if (answer.kubelet_changed()) std::cout << "another kubelet is meant: every resource is served anew\n";
  for (const std::string& name : answer.added()) std::cout << "added      " << name << '\n';
  for (const std::string& name : answer.changed()) std::cout << "changed    " << name << '\n';
  for (const std::string& name : answer.removed()) std::cout << "removed    " << name << '\n';
  std::cout << "unchanged  " << answer.unchanged() << '\n';
}

int reload(const ReloadOptions& options) {
  try {
    const v1::ReloadResponse answer = ControlClient(options.control).reload(options.log_level);
    if (options.format == OutputFormat::kTable)
      print_answer(answer);
    else
      print(std::cout, json_of(answer), options.format);
    return answer.errors_size() == 0 ? 0 : 1;
  } catch (const NoAnswer& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace

void add_reload_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<ReloadOptions>();
  CLI::App* command = app.add_subcommand(
      "reload", "have the running daemon read its configuration again, and say what changed");
  command
      ->add_option("--log-level", options->log_level,
                   "debug, info, warn or error, until the next reload; absent: the configuration's")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->option_text("LEVEL");
  add_control_option(*command, options->control);
  add_output_option(*command, options->format);
  command->callback([options, &exit_code] { exit_code = reload(*options); });
}

}  // namespace plughost
