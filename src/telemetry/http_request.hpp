#pragma once
// What an HTTP client asks. A value.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace plughost {

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

}  // namespace plughost
