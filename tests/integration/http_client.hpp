#pragma once
// A client of the daemon's HTTP server. Thread-safe.

#include <optional>
#include <string>

#include "base/system/unique_fd.hpp"
#include "integration/node.hpp"

namespace plughost::test {

struct HttpReply {
  int code = 0;
  std::string head;
  std::string body;
};

// Returns the port that the daemon has logged since line `from`.
unsigned http_port(Node& node, std::size_t from = 0);
// Sends a request, and returns the reply. `headers` has one line per header, each with its line end. Throws
// std::system_error.
HttpReply http(unsigned port, const std::string& path, const std::string& method = "GET",
               const std::string& headers = "Host: 127.0.0.1\r\n");

// A client that connects, sends part of a request and waits.
class HalfAsking {
 public:
  HalfAsking(unsigned port, const std::string& text);

 private:
  UniqueFd socket_;
};

// A stream of server-sent events.
class EventSource {
 public:
  explicit EventSource(unsigned port);
  // Reads until the text has arrived. Returns what was read since the last call, up to the end of the text's
  // line; nullopt if the text has not arrived within the deadline, or the stream has ended.
  std::optional<std::string> read_until(const std::string& text, std::chrono::milliseconds deadline = kLong);
  bool ended(std::chrono::milliseconds deadline = kLong);

 private:
  // Returns false at the end, or if nothing arrives in time.
  bool read_more(std::chrono::milliseconds deadline);

  UniqueFd socket_;
  std::string unread_;
  bool ended_ = false;
};

}  // namespace plughost::test
