// plughost events: what has changed lately in the running daemon.

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

struct EventsOptions {
  std::string control = kControlSocket;
  unsigned limit = 0;
  bool follow = false;
  OutputFormat format = OutputFormat::kTable;
};

// A value that has a space would not end where it ends.
std::string word(const std::string& value) {
  if (!value.empty() && value.find_first_of(" \t\n\"=\\") == std::string::npos) return value;
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void show(const v1::Event& event, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    std::cout << json_of(event).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  } else if (format == OutputFormat::kYaml) {
    std::cout << "---\n";
    print(std::cout, json_of(event), format);
  } else {
    std::cout << time_text(event.time()) << ' ' << event.level() << ' ' << event.message();
    for (const v1::Field& field : event.fields())
      std::cout << ' ' << field.key() << '=' << word(field.value());
    std::cout << '\n';
  }
  std::cout.flush();
}

int events(const EventsOptions& options) {
  try {
    ControlClient(options.control)
        .events(options.limit, options.follow ? ControlClient::Follow::kYes : ControlClient::Follow::kNo,
                [&](const v1::Event& event) {
                  show(event, options.format);
                  return std::cout.good();
                });
    return 0;
  } catch (const NoAnswer& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace

void add_events_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand("events", "the running daemon's last 1,000 changes, a line each");
  command->add_option("-n,--limit", options->limit, "the newest so many")
      ->check(CLI::Range(1, 1000))
      ->option_text("N");
  command->add_flag("-f,--follow", options->follow, "go on with those to come");
  add_control_option(*command, options->control);
  add_output_option(*command, options->format);
  command->callback([options, &exit_code] { exit_code = events(*options); });
}

}  // namespace plughost
