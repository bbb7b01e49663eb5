// plughost events: prints the latest events of the running daemon.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <vector>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

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

// Decides which events are printed.
struct Filter {
  std::string since;  // in the form of time_json(); empty: any time
  std::string resource;
  LogLevel level;

  bool takes(const Json& event) const {
    const auto severity = value_of(kLogLevels, event["level"].text());
    return event["time"].text() >= since && (!severity || *severity >= level) &&
           (resource.empty() || names_resource(resource, event["fields"]["resource"].text()));
  }
};

}  // namespace

int events(const EventsOptions& options) {
  Filter filter{.since = {}, .resource = options.resource, .level = options.level};
  if (!options.since.empty()) {
    const auto duration = duration_of(options.since);
    if (!duration) {
      std::cerr << "events: --since " << options.since << " is not a duration; write it as 90s, 10m or 2h\n";
      return kUsedWrongly;
    }
    const auto start = std::chrono::system_clock::now() - *duration;
    filter.since = utc_text(std::chrono::floor<std::chrono::microseconds>(start).time_since_epoch().count());
  }
  const ControlClient client(control_socket(options.control));
  std::vector<Json> known;
  client.events(0, ControlClient::Follow::kNo, [&](const Json& event) {
    known.push_back(event);
    return true;
  });
  std::vector<Json> taken;
  std::ranges::copy_if(known, std::back_inserter(taken),
                       [&](const Json& each) { return filter.takes(each); });
  const std::size_t left_out =
      options.limit == 0 || options.limit > taken.size() ? 0 : taken.size() - options.limit;
  for (std::size_t i = left_out; i < taken.size(); ++i) show(taken[i], options.format);
  if (!options.follow) return 0;
  // The stream begins with the events of before.
  client.events(0, ControlClient::Follow::kYes, [&](const Json& event) {
    const auto seen = std::ranges::find(known, event);
    if (seen != known.end())
      known.erase(seen);
    else if (filter.takes(event))
      show(event, options.format);
    return std::cout.good();
  });
  return 0;
}

}  // namespace plughost
