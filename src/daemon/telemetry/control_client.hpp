#pragma once
// Asks the running daemon, over HTTP on its control socket. Not thread-safe; blocks.

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/json.hpp"
#include "daemon/telemetry/orders.hpp"

namespace plughost {

// There is no answer, and why, as one sentence.
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

  // The daemon asks the kubelet, which may take two seconds, and reads files.
  static constexpr std::chrono::seconds kDeadline{15};

  explicit ControlClient(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // Each throws NoAnswer: at once if nobody listens there, or may not be asked; within seconds, if no answer
  // comes at all.
  Json status(std::chrono::seconds deadline = kDeadline) const;
  Json carry_out(const Order& order) const;
  // Calls tell for each until it says false, or the daemon ends; then NoAnswer is thrown.
  void watch_status(const Tell& tell) const;
  // The newest ones, at most limit (0: all there are); with follow those to come, until tell says false.
  void events(unsigned limit, Follow follow, const Tell& tell) const;

 private:
  Json request(const HttpRequest& request, std::chrono::seconds deadline) const;
  void follow(const std::string& path, std::string_view event, const Tell& tell) const;

  std::filesystem::path socket_;
};

}  // namespace plughost
