#pragma once
// HTTP requests and replies, as values.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/log/log_history.hpp"
#include "daemon/status/status.hpp"

namespace plughost {

struct HttpRequest {
  std::string method;
  std::string path;                 // without the query
  std::string query;                // the part after '?'
  std::optional<std::string> host;  // the Host header
  std::string body;
};

// A request that cannot be read, with the code of its answer.
enum class HttpFault { kBad = 400, kBodyTooLong = 413, kHeadTooLong = 431 };

// Limits for a request's head and body, in bytes.
inline constexpr std::size_t kMostHead = 8 << 10;
inline constexpr std::size_t kMostBody = 64 << 10;

// `bytes` is the input so far. Returns nullopt if the request is incomplete.
std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes);

// Returns the number of that name in a query such as "limit=20&follow", or `fallback`.
std::size_t number_in_query(std::string_view query, std::string_view name, std::size_t fallback);

// The following are values and pure functions; thread-safe.

// A reply's text, which several replies may share.
struct HttpBody {
  // Refers to a text that lives as long as the program, without a copy.
  static HttpBody lasting(std::string_view text) { return {nullptr, text}; }
  static HttpBody of(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    return {owner, *owner};
  }
  // `owner` keeps `text` alive.
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

// Makes a reply of one or more lines of text.
HttpReply text_reply(int code, std::string text);

// Returns the head of a reply. `length` is nullopt for a body that lasts until the connection ends.
std::string head_of(int code, std::string_view type, std::optional<std::size_t> length);

// The way in which a request arrives.
enum class HttpDoor {
  kNetwork,   // allows GET and HEAD
  kLoopback,  // as kNetwork, for a client that is known to be on this machine
  kControl,   // the control socket; allows POST, too
};

// Returns the refusal of a request, if it must be refused.
std::optional<HttpReply> refusal(const HttpRequest& request, HttpDoor door);
HttpReply refusal(HttpFault fault);
HttpReply not_found(HttpDoor door);

HttpReply ready(const DaemonStatus& status);
// Returns the reply to an order that came by POST. `error` means that the order was not carried out.
HttpReply done_reply(const Json& answer, bool error);
// Returns the events with a number above `after`.
HttpReply events(const LogHistory& history, std::uint64_t after);
// Formats an event of a text/event-stream. `data` must be one line.
std::string event_text(std::string_view name, std::string_view data);

}  // namespace plughost
