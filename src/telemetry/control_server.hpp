#pragma once
// The control service on its unix socket. Made and told to stop listening
// in the loop's thread, destroyed in any.

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
  // So many questions for the status, and so many reloads, wait for an answer or for the caller to take it.
  static constexpr unsigned kMostCalls = 32;
  // So many callers follow the status or the events.
  static constexpr unsigned kMostStreams = 16;
  static constexpr unsigned kMostConnections = 64;

  // Makes the socket's directory if it is not there, and takes the place of a socket that nobody listens on;
  // the socket's mode is 0660, and its group kControlGroup where there is such a group. Throws
  // std::system_error, or std::runtime_error: something else is there, or gRPC cannot start. loop, log and
  // requests outlive it.
  ControlServer(EventLoop& loop, Log& log, StatusRequests& requests, std::filesystem::path socket);
  // Calls that have been answered get 200 ms to take it; those that still wait end with an error.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Comes before its end in another thread. The socket's file goes, and nobody else can connect; who is
  // connected is served.
  void stop_listening();

 private:
  struct Served;
  void on_connection(UniqueFd connection, const ucred& peer);

  Log& log_;
  std::unique_ptr<Served> served_;
  std::optional<Listener> listener_;
};

}  // namespace plughost
