#pragma once
// Asks a running daemon. Blocks; any thread.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/json.hpp"
#include "supervisor/drain_order.hpp"

namespace plughost {

// The daemon does not answer. what() says where it was looked for, why, and what to do.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Nobody listens there.
struct NotThere : NoAnswer {
  using NoAnswer::NoAnswer;
};

class ControlClient {
 public:
  using Tell = std::function<bool(const Json& told)>;
  enum class Follow { kNo, kYes };

  // Throws NoAnswer if nobody listens there, or may not be asked.
  explicit ControlClient(const std::filesystem::path& socket);
  ~ControlClient();

  // The daemon asks the kubelet, which may take two seconds, and reads files.
  static constexpr std::chrono::seconds kDeadline{15};

  // Each throws NoAnswer: within seconds, if no answer comes at all.
  Json status(std::chrono::seconds deadline = kDeadline);
  Json reload(const std::string& log_level, std::optional<std::chrono::seconds> confirm = std::nullopt);
  Json keep();
  Json drain(const DrainOrder& order);
  // Calls tell for each until it says false, or the daemon ends; then NoAnswer is thrown.
  void watch_status(const Tell& tell);
  // The newest ones, at most limit (0: all there are); with follow those to come, until tell says false.
  void events(unsigned limit, Follow follow, const Tell& tell);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace plughost
