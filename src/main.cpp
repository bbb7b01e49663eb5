#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "commands/command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Kubernetes extended resources from a YAML file", "plughost"};
  app.set_version_flag("--version", "plughost " PLUGHOST_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  int exit_code = 0;
  plughost::add_run_command(app, exit_code);
  plughost::add_check_command(app, exit_code);
  plughost::add_convert_command(app, exit_code);
  plughost::add_discover_command(app, exit_code);
  plughost::add_simulate_command(app, exit_code);
  plughost::add_checkpoint_command(app, exit_code);
  plughost::add_doctor_command(app, exit_code);
  plughost::add_status_command(app, exit_code);
  plughost::add_events_command(app, exit_code);
  plughost::add_reload_command(app, exit_code);
  plughost::add_kubelet_command(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "plughost: " << error.what() << '\n';
    return 1;
  }
  return exit_code;
}
