// plughost reload: SIGHUP with an answer.

#include <iostream>

#include "commands/command.hpp"
#include "commands/output.hpp"
#include "telemetry/control_client.hpp"

namespace plughost {

namespace {

void print_answer(const Json& answer) {
  const auto each = [&](const char* what, std::ostream& out, const char* before) {
    for (const Json& text : answer[what].array()) out << before << text.text() << '\n';
  };
  each("warnings", std::cerr, "warning: ");
  each("errors", std::cerr, "");
  if (!answer["errors"].array().empty()) {
    std::cerr << "nothing has changed: the old configuration stays in force\n";
    return;
  }
  if (answer["kubeletChanged"].truth())
    std::cout << "another kubelet is meant: every resource is served anew\n";
  each("added", std::cout, "added      ");
  each("changed", std::cout, "changed    ");
  each("removed", std::cout, "removed    ");
  std::cout << "unchanged  " << answer["unchanged"].number() << '\n';
}

}  // namespace

int reload(const ReloadOptions& options) {
  try {
    const Json answer = ControlClient(options.control).reload(options.log_level);
    if (options.format == OutputFormat::kTable)
      print_answer(answer);
    else
      print(std::cout, answer, options.format);
    return answer["errors"].array().empty() ? 0 : 1;
  } catch (const NoAnswer& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace plughost
