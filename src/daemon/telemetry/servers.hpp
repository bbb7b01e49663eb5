#pragma once
// The servers that report on the daemon: opens them, and moves them at a reload. Loop thread only.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"
#include "config/config.hpp"
#include "daemon/telemetry/http_server.hpp"
#include "daemon/telemetry/status_requests.hpp"

namespace plughost {

// Besides root, members of this group may use the control socket.
inline constexpr const char* kControlGroup = "plughost";

// The control socket: HTTP on a unix socket. Constructed and stopped in the loop, destroyed on any thread.
class ControlServer {
 public:
  // Creates the socket's directory if necessary and replaces a socket without a listener. The socket's mode
  // is 0660, with group kControlGroup if that group exists. Throws std::system_error, or std::runtime_error
  // if something else has the path. `loop`, `log` and `requests` must outlive this object.
  ControlServer(EventLoop& loop, Log& log, StatusRequests& requests, const std::filesystem::path& socket);
  ControlServer& operator=(ControlServer&&) = delete;

  // Call it before the object is destroyed in another thread. Removes the socket's file, so that no client
  // can connect; connected clients are served.
  void stop_listening() { file_.reset(); }

 private:
  HttpServer server_;
  std::optional<SocketFile> file_;
};

class Servers {
 public:
  // The new servers of a configuration. They listen already, beside the servers that they replace.
  struct Opened {
    TelemetryConfig config;
    std::unique_ptr<ControlServer> control;
    std::unique_ptr<HttpServer> http;
  };

  // The arguments must outlive this object.
  Servers(EventLoop& loop, Log& log, StatusRequests& requests);
  // Call requests.close() before, which ends the calls that wait for an answer.
  ~Servers();

  // Opens the servers at the start. Returns the errors of servers that could not be opened; devices are
  // served without these servers.
  std::vector<std::string> open(const TelemetryConfig& config);

  // Opens moved servers. Throws std::runtime_error, "file:line:col: key: why", with nothing new left open.
  Opened prepare(const TelemetryConfig& config);
  // Puts the new servers into use. The former servers serve their clients until end_former(). Retries to open
  // servers that open() could not open, and returns errors as open() does.
  std::vector<std::string> use(Opened opened);
  // Ends the former servers, and does not wait for their end.
  void end_former();
  // Makes room for the servers of another process: frees the address, and removes the control socket's file.
  // Clients of the control socket still get their answers. Takes some milliseconds.
  void leave();

 private:
  std::vector<std::string> open_missing();
  std::unique_ptr<ControlServer> open_control(const TelemetryConfig& config);
  std::unique_ptr<HttpServer> open_http(const TelemetryConfig& config);
  void replace_control(std::unique_ptr<ControlServer> control);
  void replace_http(std::unique_ptr<HttpServer> http);
  // Destroys the server on a thread of its own.
  void end(std::shared_ptr<void> server);

  EventLoop& loop_;
  Log& log_;
  StatusRequests& requests_;
  TelemetryConfig config_;
  std::unique_ptr<ControlServer> control_;
  std::unique_ptr<HttpServer> http_;
  std::vector<std::shared_ptr<void>> former_;
  Lifetime lifetime_;
  std::uint64_t endings_ = 0;
  std::map<std::uint64_t, std::jthread> ending_;
};

}  // namespace plughost
