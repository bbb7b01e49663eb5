#pragma once
// The daemon's HTTP server. On a network address it serves the status page, metrics and probes, all
// read-only; on the control socket it accepts orders, too.
//
// Clients that read the status must not slow the daemon's loop down, nor use up the file descriptors that
// connections to the kubelet need. So each address has a thread with a loop of its own, at most 64
// connections (a new one closes the oldest idle one), and responses that concurrent requests share. Orders
// are POSTs and are accepted on the control socket alone, whose file mode is the access control. HTTP itself
// is Boost.Beast, because a parser of untrusted requests is not plughost's purpose.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "daemon/telemetry/http_message.hpp"
#include "daemon/telemetry/status_requests.hpp"

namespace plughost {

// Judges whether the event loop is alive, from the times of queries and answers. A value; callers pass the
// time. Not thread-safe.
class Pulse {
 public:
  using Clock = LoopClock;

  // A probe must be answered within 50 ms, of which 10 ms are left for the network.
  static constexpr std::chrono::milliseconds kAnswer{40};
  // A loop that answers late may merely be busy. A loop that is silent for this long does not recover by
  // itself. The watchdog of the systemd unit waits longer.
  static constexpr std::chrono::seconds kSilence{5};

  // Returns true if the loop must be queried now; call answered() when it replies. One query at a time.
  bool ask(Clock::time_point now) {
    if (asked_) return false;
    asked_ = now;
    return true;
  }
  void answered() { asked_.reset(); }
  bool alive(Clock::time_point now) const { return !asked_ || now - *asked_ < kSilence; }

 private:
  std::optional<Clock::time_point> asked_;  // time of the unanswered query
};

// Constructed on the loop thread, destroyed on any thread. Its own thread answers requests and never blocks.
class HttpServer {
 public:
  // The maximum number of clients with an open event stream.
  static constexpr unsigned kMostStreams = 16;
  // The maximum number of connections. A further connection closes the oldest idle connection, or else the
  // oldest connection without a stream. A connection of root is closed only for another connection of root.
  static constexpr unsigned kMostConnections = 64;

  struct Listening {
    UniqueFd socket;
    HttpDoor door;
    std::string name;  // for the log
  };
  // `address` is as in the configuration, "127.0.0.1:9464"; with port 0 the kernel chooses one. `former` is
  // the server to replace, whose port may be reused; nullptr: none. Throws std::runtime_error if it cannot
  // listen there.
  static Listening on_address(const std::string& address, const HttpServer* former = nullptr);

  // `loop`, `log` and `requests` must outlive this object. Throws std::system_error.
  HttpServer(EventLoop& loop, Log& log, StatusRequests& requests, Listening listening);
  // Ends streams, and ends waiting requests with an error. Takes some milliseconds.
  ~HttpServer();
  HttpServer& operator=(HttpServer&&) = delete;

  // Returns the port. Call it for a network address only.
  unsigned port() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;  // used by the thread
  std::thread thread_;
};

}  // namespace plughost
