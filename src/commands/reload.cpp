// plughost reload: SIGHUP with an answer.

#include <iostream>

#include "commands/command.hpp"
#include "commands/output.hpp"
#include "config/config.hpp"
#include "telemetry/control_client.hpp"
#include "telemetry/status_json.hpp"

namespace plughost {

namespace {

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

}  // namespace

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

}  // namespace plughost
