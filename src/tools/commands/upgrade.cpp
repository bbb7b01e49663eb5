// plughost upgrade: replaces the running daemon by the installed version.

#include <chrono>
#include <iostream>
#include <thread>

#include "daemon/telemetry/control_client.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

// The new daemon opens its control socket in a moment. If it does not, the next command says why.
void wait_for(const ControlClient& client) {
  for (int attempts = 100; attempts > 0; --attempts) {
    try {
      client.status();
      return;
    } catch (const NotThere&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } catch (const NoAnswer&) {
      return;
    }
  }
}

}  // namespace

int upgrade(const UpgradeOptions& options) {
  const ControlClient client(control_socket(options.control));
  Json answer;
  try {
    answer = client.carry_out(HandOverOrder{HandOverStep::kUpgrade});
  } catch (const NoAnswer& exception) {
    std::cerr << "plughost: " << exception.what() << '\n';
    return kUsedWrongly;
  }
  const std::string& error = answer["error"].text();
  if (error.empty()) wait_for(client);
  if (options.format != OutputFormat::kTable)
    print(std::cout, answer, options.format);
  else if (error.empty())
    std::cout << "plughost runs as process " << answer["process"].number() << " now\n";
  else
    std::cerr << "not upgraded: " << error
              << "\nthe plughost that ran before serves on; the log has the reason\n";
  return error.empty() ? 0 : 1;
}

}  // namespace plughost
