// plughost events: prints the latest events of the running daemon.

#include <iostream>

#include "base/text/text.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"

namespace plughost {
namespace {

void show(const Json& event, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    std::cout << event.dump() << '\n';  // one per line
  } else if (format == OutputFormat::kYaml) {
    std::cout << "---\n";
    print(std::cout, event, format);
  } else {
    std::cout << event["time"].text() << ' ' << event["level"].text() << ' ' << event["message"].text();
    for (const auto& [key, value] : event["fields"].object())
      std::cout << ' ' << key << '=' << one_word(value.text());
    std::cout << '\n';
  }
  std::cout.flush();
}

}  // namespace

int events(const EventsOptions& options) {
  ControlClient(options.control)
      .events(options.limit, options.follow ? ControlClient::Follow::kYes : ControlClient::Follow::kNo,
              [&](const Json& event) {
                show(event, options.format);
                return std::cout.good();
              });
  return 0;
}

}  // namespace plughost
