// plughost events: what has changed lately in the running daemon.

#include <iostream>

#include "base/text.hpp"
#include "commands/command.hpp"
#include "commands/output.hpp"
#include "config/config.hpp"
#include "telemetry/control_client.hpp"
#include "telemetry/status_json.hpp"

namespace plughost {

namespace {

void show(const v1::Event& event, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    std::cout << json_of(event).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  } else if (format == OutputFormat::kYaml) {
    std::cout << "---\n";
    print(std::cout, json_of(event), format);
  } else {
    std::cout << utc_text(event.time()) << ' ' << event.level() << ' ' << event.message();
    for (const v1::Field& field : event.fields())
      std::cout << ' ' << field.key() << '=' << one_word(field.value());
    std::cout << '\n';
  }
  std::cout.flush();
}

}  // namespace

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

}  // namespace plughost
