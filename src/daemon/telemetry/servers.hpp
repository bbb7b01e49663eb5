#pragma once
// The servers that tell of the daemon: what is open, and how a reload moves it. Loop thread only.

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

// Its members may ask, beside root.
inline constexpr const char* kControlGroup = "plughost";

// The control socket: HTTP on a unix socket. Made and told to stop listening in the loop's thread, destroyed
// in any.
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

class Servers {
 public:
  // What a configuration moves: it listens already, beside what it takes the place of.
  struct Opened {
    TelemetryConfig config;
    std::unique_ptr<ControlServer> control;
    std::unique_ptr<HttpServer> http;
  };

  // loop, log and requests outlive it.
  Servers(EventLoop& loop, Log& log, StatusRequests& requests);
  // requests.close() comes before: calls that wait for an answer end with it.
  ~Servers();

  // At the start. What it cannot have, as sentences: devices are served without it.
  std::vector<std::string> open(const TelemetryConfig& config);

  // Throws std::runtime_error, "file:line:col: key: why", and then nothing is open that was not before.
  Opened prepare(const TelemetryConfig& config);
  // From now on these are asked; the former ones, which go on until end_former(), by whom they have already.
  // What could not be opened before is tried again; the sentences are open()'s.
  std::vector<std::string> use(Opened opened);
  // Nobody waits for their end.
  void end_former();

 private:
  std::vector<std::string> open_missing();
  std::unique_ptr<ControlServer> open_control(const TelemetryConfig& config);
  std::unique_ptr<HttpServer> open_http(const TelemetryConfig& config);
  void replace_control(std::unique_ptr<ControlServer> control);
  void replace_http(std::unique_ptr<HttpServer> http);
  // Destroys it on a thread of its own.
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
