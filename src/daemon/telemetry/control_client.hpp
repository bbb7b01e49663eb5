#pragma once
// Queries the running daemon over HTTP on its control socket. Blocks; not thread-safe.

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/json.hpp"
#include "daemon/handover/take_over.hpp"
#include "daemon/telemetry/orders.hpp"

namespace plughost {

// No answer was received; the text is one sentence.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// No daemon listens on the socket.
struct NotThere : NoAnswer {
  using NoAnswer::NoAnswer;
};

class ControlClient {
 public:
  using Tell = std::function<bool(const Json& told)>;
  enum class Follow { kNo, kYes };

  // The daemon queries the kubelet, which may take two seconds, and reads files.
  static constexpr std::chrono::seconds kDeadline{15};

  explicit ControlClient(std::filesystem::path socket) : socket_(std::move(socket)) {}

  // All functions throw NoAnswer: at once if the connection is refused, within seconds if there is no answer.
  Json status(std::chrono::seconds deadline = kDeadline) const;
  Json carry_out(const Order& order) const;
  // Asks the daemon to hand over to this process. Throws std::runtime_error with the daemon's reason if it
  // does not.
  Predecessor begin_hand_over() const;
  // Calls `tell` for each status until `tell` returns false or the daemon ends, which throws NoAnswer.
  void watch_status(const Tell& tell) const;
  // Calls `tell` for the newest events, at most `limit` (0: all), until `tell` returns false. With kYes,
  // waits for later events, too.
  void events(unsigned limit, Follow follow, const Tell& tell) const;

 private:
  Json request(const HttpRequest& request, std::chrono::seconds deadline) const;
  void follow(const std::string& path, std::string_view event, const Tell& tell) const;

  std::filesystem::path socket_;
};

}  // namespace plughost
