// plughost reload: reloads the configuration and prints the result.

#include <iostream>

#include "base/document/fields.hpp"
#include "config/config.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

void print_answer(const Json& answer) {
  const auto each = [&](const char* what, std::ostream& out, const char* before) {
    for (const Json& text : answer[what].array()) out << before << text.text() << '\n';
  };
  each("warnings", std::cerr, "warning: ");
  each("errors", std::cerr, "");
  if (!answer["errors"].array().empty()) {
    std::cerr << "nothing has changed: the current configuration stays\n";
    return;
  }
  if (answer["kubeletChanged"].truth())
    std::cout << "kubelet settings have changed: every resource registers again\n";
  each("added", std::cout, "added      ");
  each("changed", std::cout, "changed    ");
  each("removed", std::cout, "removed    ");
  std::cout << "unchanged  " << answer["unchanged"].number() << '\n';
  if (!answer["trialUntil"].is_null())
    std::cout << "on trial until " << answer["trialUntil"].text() << ": `plughost reload --keep` keeps it\n";
}

int keep(const ReloadOptions& options) {
  const Json answer = ControlClient(control_socket(options.control)).carry_out(KeepOrder());
  const std::string& error = answer["error"].text();
  if (options.format != OutputFormat::kTable)
    print(std::cout, answer, options.format);
  else if (error.empty())
    std::cout << "the configuration is kept\n";
  else
    std::cerr << error << '\n';
  return error.empty() ? 0 : 1;
}

}  // namespace

int reload(const ReloadOptions& options) {
  ReloadOrder order{.level = options.log_level};
  if (!options.trial.empty()) {
    const auto duration = duration_of(options.trial);
    if (!duration || *duration < kShortestTrial || *duration > kLongestTrial) {
      std::cerr << options.trial << " is not a duration from a second to a day; write it as 90s, 5m or 2h\n";
      return kUsedWrongly;
    }
    order.confirm = std::chrono::floor<std::chrono::seconds>(*duration);
  }
  if (options.keep) return keep(options);
  const Json answer = ControlClient(control_socket(options.control)).carry_out(order);
  if (options.format == OutputFormat::kTable)
    print_answer(answer);
  else
    print(std::cout, answer, options.format);
  return answer["errors"].array().empty() ? 0 : 1;
}

}  // namespace plughost
