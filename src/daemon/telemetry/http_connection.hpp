#pragma once
// One connection of an HTTP client: one request, then one answer or a stream. Thread of the HTTP server only.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "daemon/telemetry/http_message.hpp"

namespace plughost {

class HttpConnection {
 public:
  // Limit for the whole request, from the moment of the connection.
  static constexpr std::chrono::seconds kHeadDeadline{5};
  // Limit without progress while the client reads the answer.
  static constexpr std::chrono::seconds kWriteDeadline{10};
  // Wait after the answer for a client that still sends.
  static constexpr std::chrono::seconds kLingerDeadline{1};

  class Owner {
   public:
    virtual ~Owner() = default;
    // Called once.
    virtual void on_request(const HttpRequest& request) = 0;
    // Called when output that had to wait has been sent.
    virtual void on_drained() = 0;
    // Called once, from the loop, when the connection has ended. May destroy the connection.
    virtual void on_gone() = 0;
  };

  // `socket` must be non-blocking. Throws std::system_error. `loop` and `owner` must outlive this object.
  HttpConnection(EventLoop& loop, UniqueFd socket, Owner& owner);
  HttpConnection& operator=(HttpConnection&&) = delete;

  // Returns true if no request has arrived yet.
  bool idle() const { return state_ == State::kReading; }
  // Calls `late` after `within`, unless the answer or another expect() comes first.
  void expect(std::chrono::milliseconds within, std::function<void()> late);
  // Sends the answer and ends the connection.
  void reply(HttpReply reply);
  // Begins a streamed answer. Returns false if the request was for the head only.
  bool stream(std::string_view type);
  // Sends more of a streamed answer.
  void send(std::string_view text);
  // Returns true while output is waiting.
  bool behind() const { return !out_.empty(); }
  // Ends the connection; on_gone() follows.
  void end();

 private:
  enum class State { kReading, kAnswering, kReplying, kStreaming, kLingering, kGone };

  void on_event(std::uint32_t events);
  void on_deadline();
  void read();
  // Returns false if no more input is wanted.
  bool receive(std::string_view bytes);
  void flush();
  void linger();

  EventLoop& loop_;
  UniqueFd socket_;
  Owner& owner_;
  State state_ = State::kReading;
  bool head_only_ = false;
  std::string in_;
  std::size_t ignored_ = 0;  // bytes received after the request
  std::string out_;          // output before the body
  std::size_t sent_ = 0;     // bytes of out_ sent
  HttpBody body_;            // the unsent rest of the body
  std::function<void()> late_;
  Timer deadline_;
  Timer stall_;
  IoWatch watch_;
  Lifetime lifetime_;
};

}  // namespace plughost
