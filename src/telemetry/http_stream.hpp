#pragma once
// What a client is told that follows, as a text/event-stream: `status` whenever it is another one, `change`
// for each event, `alive` now and then. Thread of the HTTP server only.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/event_loop.hpp"
#include "telemetry/http_connection.hpp"
#include "telemetry/status_requests.hpp"

namespace plughost {

class HttpStream {
 public:
  // A page must hear something now and then, to know a silence from a connection that is lost.
  static constexpr std::chrono::seconds kAlive{15};

  struct Terms {
    bool statuses = false;
    std::uint64_t after = 0;  // the event before the first one that is told
  };

  // Begins the answer. All outlive it.
  HttpStream(EventLoop& loop, StatusRequests& requests, HttpConnection& connection, Terms terms);
  ~HttpStream();
  HttpStream& operator=(HttpStream&&) = delete;

  // One message after the other: who reads slowly costs nothing, and is told what is newest then.
  void advance();

 private:
  class Watcher;
  void keep_alive();

  StatusRequests& requests_;
  HttpConnection& connection_;
  const bool statuses_;
  std::uint64_t status_told_ = 0;
  std::uint64_t event_told_;
  Lifetime lifetime_;
  std::shared_ptr<Watcher> watcher_;
};

}  // namespace plughost
