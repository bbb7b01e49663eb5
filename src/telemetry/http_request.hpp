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
  std::optional<std::string> host;  // as the header has it
};

// The request cannot be read: the answer's code.
enum class HttpFault { kBad = 400, kBodyTooLong = 413, kHeadTooLong = 431 };

// So many bytes a request's head may have, and a body that nobody reads.
inline constexpr std::size_t kMostHead = 8 << 10;
inline constexpr std::size_t kMostBody = 64 << 10;

// bytes: what has come so far, which is whole when an empty line ends the head. nullopt: it is not whole.
std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes);

}  // namespace plughost
