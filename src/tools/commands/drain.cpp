// plughost drain and undrain: take a device out of service and put it back.

#include <iostream>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

void print_holders(const Json& answer) {
  if (const std::string& why = answer["holdersUnknown"].text(); !why.empty()) {
    std::cout << "cannot determine which pods hold it: " << why << '\n';
    return;
  }
  std::vector<TableRow> rows;
  for (const Json& holder : answer["holders"].array())
    rows.push_back(
        {holder["namespace"].text(), holder["pod"].text(), holder["container"].text(), holder["id"].text()});
  if (rows.empty()) {
    std::cout << "no pod holds it\n";
    return;
  }
  std::cout << "still in use by:\n";
  print_table(std::cout, {"NAMESPACE", "POD", "CONTAINER", "ID"}, rows);
}

void print_drained(const Json& answer) {
  const DrainSet::Name name{.resource = answer["resource"].text(), .device = answer["device"].text()};
  std::cout << printable(name.text())
            << (!name.resource.empty() && name.device.empty() ? ", every device," : "") << " is "
            << printable(answer["drained"].truth() ? answer["what"].text() : "back in service");
  if (!answer["former"].text().empty())
    std::cout << " (before: " << printable(answer["former"].text()) << ')';
  std::cout << '\n';
  if (const std::string& why = answer["unsaved"].text(); !why.empty())
    std::cerr << "warning: the drain would not survive a restart of plughost: " << why << '\n';
  if (!answer["drained"].truth() && !answer["trouble"].text().empty())
    std::cout << "and " << health_text(answer["trouble"].text()) << '\n';
  if (answer["drained"].truth()) print_holders(answer);
}

// `what` is empty for the order that ends the drain of every device.
int carry_out(DrainOrder order, const std::string& what, const std::string& control, OutputFormat format) {
  const std::size_t equals = what.find('=');
  if (equals == 0 || (!what.empty() && what.back() == '=')) {
    std::cerr << what
              << " does not name a device: write NAME=ID, as in example.com/gpu=gpu-0, or NAME for all of a "
                 "resource; `plughost status NAME` shows the ids\n";
    return kUsedWrongly;
  }
  const ControlClient client(control_socket(control));
  order.resource = what.substr(0, equals);
  // Every resource has a domain: without one it is a short name.
  if (!order.resource.empty() && order.resource.find('/') == std::string::npos)
    order.resource = full_name(order.resource, names_of(client.status()));
  if (equals != std::string::npos) order.device = what.substr(equals + 1);
  if (const std::string error = error_of(order); !error.empty()) {
    std::cerr << error << '\n';
    return kUsedWrongly;
  }
  const Json answer = client.carry_out(order);
  const std::string& error = answer["error"].text();
  if (format != OutputFormat::kTable)
    print(std::cout, answer, format);
  else if (error.empty())
    print_drained(answer);
  else
    std::cerr << printable(error) << '\n';
  return error.empty() ? 0 : 1;
}

}  // namespace

int drain(const DrainOptions& options) {
  DrainOrder order{.resource = {}, .device = {}, .terms = DrainOrder::Terms{.reason = options.reason}};
  if (!options.duration.empty()) {
    const auto duration = duration_of(options.duration);
    if (!duration) {
      std::cerr << options.duration << " is not a duration; write it as 90s, 2h30m or 3d\n";
      return kUsedWrongly;
    }
    order.terms->duration = std::chrono::duration_cast<std::chrono::seconds>(*duration);
  }
  return carry_out(std::move(order), options.what, options.control, options.format);
}

int undrain(const UndrainOptions& options) {
  return carry_out({}, options.unreadable ? "" : options.what, options.control, options.format);
}

}  // namespace plughost
