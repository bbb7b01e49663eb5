#pragma once
// A request as it came, and the reply as it goes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/log/log_history.hpp"
#include "daemon/status/status.hpp"

namespace plughost {

// What an HTTP client asks. A value.
struct HttpRequest {
  std::string method;
  std::string path;                 // without what follows a '?'
  std::string query;                // that
  std::optional<std::string> host;  // as the header has it
  std::string body;
};

// The request cannot be read: the answer's code.
enum class HttpFault { kBad = 400, kBodyTooLong = 413, kHeadTooLong = 431 };

// So many bytes a request's head may have, and its body.
inline constexpr std::size_t kMostHead = 8 << 10;
inline constexpr std::size_t kMostBody = 64 << 10;

// bytes: what has come so far. nullopt: it is not whole.
std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes);

// The number that "limit=20&follow" has under that name; fallback: it has none.
std::size_t number_in_query(std::string_view query, std::string_view name, std::size_t fallback);

// What an HTTP client is answered. Values and pure functions; thread-safe.

// A reply's text, which several may share.
struct HttpBody {
  // In place of a copy: the text of something that lives as long as the program.
  static HttpBody lasting(std::string_view text) { return {nullptr, text}; }
  static HttpBody of(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    return {owner, *owner};
  }
  // owner holds what text is of.
  static HttpBody of(std::shared_ptr<const void> owner, std::string_view text) {
    return {std::move(owner), text};
  }

  std::shared_ptr<const void> owner;
  std::string_view text;
};

struct HttpReply {
  int code = 200;
  std::string_view type;
  HttpBody body;
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";
inline constexpr std::string_view kEventStreamType = "text/event-stream";

// A reply of one or more lines of text.
HttpReply text_reply(int code, std::string text);

// What comes before the body. length: nullopt for a body that goes on until the connection ends.
std::string head_of(int code, std::string_view type, std::optional<std::size_t> length);

// By which a request comes in.
enum class HttpDoor {
  kNetwork,   // GET and HEAD
  kLoopback,  // the same, of somebody who knows that it is this machine
  kControl,   // the control socket: POST, too
};

// Why the request is turned away, if it is.
std::optional<HttpReply> refusal(const HttpRequest& request, HttpDoor door);
HttpReply refusal(HttpFault fault);
HttpReply not_found(HttpDoor door);

HttpReply ready(const DaemonStatus& status);
// What an order that came by POST has led to. error: it was not carried out.
HttpReply done_reply(const Json& answer, bool error);
// Those after that number.
HttpReply events(const LogHistory& history, std::uint64_t after);
// An event of a text/event-stream; data is one line.
std::string event_text(std::string_view name, std::string_view data);

}  // namespace plughost
