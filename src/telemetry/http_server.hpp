#pragma once
// The status page, metrics and probes over HTTP. It only reads. Made and destroyed in the loop's thread; its
// own threads answer.

#include <atomic>
#include <string>

#include "base/log.hpp"
#include "telemetry/status_requests.hpp"

struct mg_connection;
struct mg_context;

namespace plughost {

class HttpServer {
 public:
  // Of its threads so many may be held by pages that watch.
  static constexpr unsigned kMostStreams = 8;
  static constexpr unsigned kThreads = kMostStreams + 4;

  // address: as in the configuration, "127.0.0.1:9464"; port 0 is one that the kernel chooses.
  // Throws std::runtime_error if it cannot listen there.
  // log and requests outlive it.
  HttpServer(Log& log, StatusRequests& requests, std::string address);
  // Ends pages that watch, and those who wait for the loop. Blocks for some milliseconds; for up to two
  // seconds if somebody has connected and asks nothing, since CivetWeb looks no oftener then.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  unsigned port() const;

 private:
  struct Routes;

  Log& log_;
  StatusRequests& requests_;
  std::string address_;
  Readers ending_;  // hear of its end
  std::atomic<unsigned> streams_{0};
  std::atomic<bool> started_{false};
  std::string trouble_;  // until then
  mg_context* context_ = nullptr;
};

// Does the address ("127.0.0.1:9464", "[::1]:9464", "9464") take connections of this machine only?
bool is_loopback(std::string_view address);

}  // namespace plughost
