#pragma once
// The daemon over HTTP: the status page, metrics and probes on an address, which only reads; and on the
// control socket orders, too. Made in the loop's thread, destroyed in any; a thread of its own answers, which
// waits for nothing and nobody.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "telemetry/http_reply.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

class HttpServer {
 public:
  // So many may follow.
  static constexpr unsigned kMostStreams = 16;
  // For one more the oldest one that has not asked yet is closed, or else the oldest that does not follow;
  // root's for nobody else's.
  static constexpr unsigned kMostConnections = 64;

  struct Listening {
    UniqueFd socket;
    HttpDoor door;
    std::string name;  // for the log
  };
  // address: as in the configuration, "127.0.0.1:9464"; port 0 is one that the kernel chooses. former: the
  // server that this one takes over from, whose port it may have; nullptr: there is none.
  // Throws std::runtime_error if it cannot listen there.
  static Listening on_address(const std::string& address, const HttpServer* former = nullptr);

  // loop, log and requests outlive it. Throws std::system_error.
  HttpServer(EventLoop& loop, Log& log, StatusRequests& requests, Listening listening);
  // Who waits for an answer is told that none comes, and who follows is left: a matter of some milliseconds.
  ~HttpServer();
  HttpServer& operator=(HttpServer&&) = delete;

  // Of an address.
  unsigned port() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;  // the thread's
  std::thread thread_;
};

}  // namespace plughost
