#pragma once
// The control service on its unix socket. Loop thread only.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "kubelet/listener.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

// Its members may ask, beside root.
inline constexpr const char* kControlGroup = "plughost";

class ControlServer {
 public:
  // Makes the socket's directory if it is not there; the socket's mode is 0660, and its group kControlGroup
  // where there is such a group. Throws std::system_error, or std::runtime_error: another daemon answers
  // there, or gRPC cannot start. loop, log and requests outlive it.
  ControlServer(EventLoop& loop, Log& log, StatusRequests& requests, std::filesystem::path socket);
  // requests.close() comes before: calls that wait for an answer end with it.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct Served;
  std::unique_ptr<Served> served_;
  std::optional<Listener> listener_;
};

}  // namespace plughost
