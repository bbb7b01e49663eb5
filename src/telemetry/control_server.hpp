#pragma once
// The control socket: HTTP on a unix socket. Made and told to stop listening in the loop's thread, destroyed
// in any.

#include <filesystem>
#include <optional>

#include "base/event_loop.hpp"
#include "base/unix_socket.hpp"
#include "log/log.hpp"
#include "telemetry/http_server.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

// Its members may ask, beside root.
inline constexpr const char* kControlGroup = "plughost";

class ControlServer {
 public:
  // Makes the socket's directory if it is not there, and takes the place of a socket that nobody listens on;
  // the socket's mode is 0660, and its group kControlGroup where there is such a group. Throws
  // std::system_error, or std::runtime_error: something else is there. loop, log and requests outlive it.
  ControlServer(EventLoop& loop, Log& log, StatusRequests& requests, const std::filesystem::path& socket);
  ControlServer& operator=(ControlServer&&) = delete;

  // Comes before its end in another thread. The socket's file goes, and nobody else can connect; who is
  // connected is served.
  void stop_listening() { file_.reset(); }

 private:
  HttpServer server_;
  std::optional<SocketFile> file_;
};

}  // namespace plughost
