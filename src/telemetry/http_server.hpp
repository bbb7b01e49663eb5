#pragma once
// The status page, metrics and probes over HTTP. It only reads. Made in the loop's thread, destroyed in any;
// a thread of its own answers, which waits for nothing and nobody.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

class HttpServer {
 public:
  // So many pages may watch.
  static constexpr unsigned kMostStreams = 8;
  // For one more the oldest one that has not asked yet is closed, or else the oldest that does not watch.
  static constexpr unsigned kMostConnections = 64;

  // address: as in the configuration, "127.0.0.1:9464"; port 0 is one that the kernel chooses. former: the
  // server that this one takes over from, whose port it may have; nullptr: there is none.
  // Throws std::runtime_error if it cannot listen there.
  // loop, log and requests outlive it.
  HttpServer(EventLoop& loop, Log& log, StatusRequests& requests, const std::string& address,
             const HttpServer* former = nullptr);
  // Who waits for an answer is told that none comes, and pages that watch end: a matter of some milliseconds.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  unsigned port() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;  // the thread's
  std::thread thread_;
};

}  // namespace plughost
