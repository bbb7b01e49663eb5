#pragma once
// One connection of an HTTP client: it asks once, and is answered once, or told things until it goes. Thread
// of the HTTP server only.

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
  // From the first moment on, however slowly it comes.
  static constexpr std::chrono::seconds kHeadDeadline{5};
  // Without a byte that the client has taken.
  static constexpr std::chrono::seconds kWriteDeadline{10};
  // After the answer, for a client that still sends.
  static constexpr std::chrono::seconds kLingerDeadline{1};

  struct Hooks {
    std::function<void(const HttpRequest& request)> asked;  // once
    std::function<void()> drained;  // all that was told has gone out, after some had to wait
    std::function<void()> gone;     // once, from the loop: it is of no use any more
  };

  // socket is non-blocking. Throws std::system_error. loop outlives it.
  HttpConnection(EventLoop& loop, UniqueFd socket, Hooks hooks);
  HttpConnection& operator=(HttpConnection&&) = delete;

  // Nothing has been asked yet.
  bool idle() const { return state_ == State::kReading; }
  // Calls late when the time is over, unless it is answered or expects something else.
  void expect(std::chrono::milliseconds within, std::function<void()> late);
  // The answer, after which it ends.
  void reply(HttpReply reply);
  // Begins an answer that goes on until one of both ends. False: the head was all that was asked for.
  bool stream(std::string_view type);
  // More of a stream's answer.
  void send(std::string_view text);
  // Something that was told has not gone out yet.
  bool behind() const { return !out_.empty(); }
  // It is of no use any more: gone follows.
  void end();

 private:
  enum class State { kReading, kAnswering, kReplying, kStreaming, kLingering, kGone };

  void on_event(std::uint32_t events);
  void on_deadline();
  void read();
  // False: nothing more is wanted.
  bool receive(std::string_view bytes);
  void flush();
  void linger();

  EventLoop& loop_;
  UniqueFd socket_;
  Hooks hooks_;
  State state_ = State::kReading;
  bool head_only_ = false;
  std::string in_;
  std::size_t ignored_ = 0;  // bytes that came after the request
  std::string out_;          // what is to go out before the body
  std::size_t sent_ = 0;     // of it
  HttpBody body_;            // what is to go out of it
  std::function<void()> late_;
  Timer deadline_;
  Timer stall_;
  IoWatch watch_;
};

}  // namespace plughost
