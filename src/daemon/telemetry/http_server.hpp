#pragma once
// The daemon over HTTP: the status page, metrics and probes on an address, which only reads; and on the
// control socket orders, too. Made in the loop's thread, destroyed in any; a thread of its own answers, which
// waits for nothing and nobody.

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

// Whether the loop lives, told from when it was asked and when it answered. A value without a clock of its
// own; not thread-safe.
class Pulse {
 public:
  using Clock = LoopClock;

  // Who asks is told within 50 ms; what is left of them is for the way.
  static constexpr std::chrono::milliseconds kAnswer{40};
  // A loop that is late is busy, or the machine is; one that has been silent for so long does not come back
  // by itself. The unit's watchdog waits for longer.
  static constexpr std::chrono::seconds kSilence{5};

  // True: the loop is to be asked now; answered() follows if it lives. At most one question is under way.
  bool ask(Clock::time_point now) {
    if (asked_) return false;
    asked_ = now;
    return true;
  }
  void answered() { asked_.reset(); }
  bool alive(Clock::time_point now) const { return !asked_ || now - *asked_ < kSilence; }

 private:
  std::optional<Clock::time_point> asked_;  // the question that is not answered
};

// The daemon over HTTP: the status page, metrics and probes on an address, which only reads; and on the
// control socket orders, too. Made in the loop's thread, destroyed in any; a thread of its own answers, which
// waits for nothing and nobody.
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
