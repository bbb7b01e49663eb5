#pragma once
// A request of the API server's and its answer, and what an answer means: in JSON and in words. Plain values
// and pure functions, thread-safe.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/text/json.hpp"

namespace plughost {

// The word that RBAC and the metrics have for it.
enum class ApiVerb { kGet, kList, kWatch, kCreate, kUpdate, kPatch, kDelete };
// "get", "list", "watch", "create", "update", "patch", "delete"
std::string_view word_of(ApiVerb verb);

struct ApiRequest {
  // Content types of patches.
  static constexpr const char* kJson = "application/json";
  static constexpr const char* kMergePatch = "application/merge-patch+json";

  // A text, or what makes it of the node's name, which is known only when the credentials have been read.
  using Text = std::variant<std::string, std::function<std::string(const std::string& node)>>;

  ApiVerb verb = ApiVerb::kGet;
  Text path;  // with its query: "/api/v1/pods?limit=500"; what the user of the API names is encoded
              // (url_encoded)
  std::string content_type = kJson;  // of the body
  Text body;                         // of kCreate, kUpdate and kPatch
  // From send() to the answer, the wait for credentials and for a free connection included.
  std::chrono::milliseconds deadline = std::chrono::seconds(10);
  std::size_t most_answer = std::size_t{3} << 19u;  // bytes: 1.5 MiB, as etcd's objects
};

struct ApiAnswer {
  static constexpr int kUnauthorized = 401;
  static constexpr int kForbidden = 403;
  static constexpr int kNotFound = 404;
  static constexpr int kRequestTimeout = 408;
  static constexpr int kConflict = 409;
  static constexpr int kGone = 410;
  static constexpr int kUnprocessable = 422;
  static constexpr int kTooManyRequests = 429;
  static constexpr int kGatewayTimeout = 504;

  // A Retry-After is never taken for longer.
  static constexpr std::chrono::seconds kLongestRetryAfter{60};

  int code = 0;  // of HTTP; 0: there was no answer
  std::string body;
  // Why it is no success, as a sentence that fits into a line; empty: 2xx. With what the server says, cut and
  // printable.
  std::string error;
  std::optional<std::chrono::seconds> retry_after;
  // No server is behind the address: nobody listens, or a balancer has hung up on our hello. To ask again
  // soon costs nobody anything.
  bool nobody = false;

  bool ok() const { return code >= 200 && code < 300 && error.empty(); }
};

// As it stands in a path or in the value of a query: what is not a letter, a digit or one of -._~ as %XX.
std::string url_encoded(std::string_view text);

// The value without `managedFields`, which nobody here reads and which are a third of an object; a number
// that is no integer of 64 bits is its text. Or why it is none, as a sentence.
std::variant<Json, std::string> parse_api_json(std::string_view text);
// The same of the members that are named, see JsonTerms::kept and most_kept; of a text that is not whole,
// what comes before its end.
JsonPart parse_api_part(std::string_view text, std::span<const std::string> kept, std::size_t most_kept);

// "403 Forbidden: pods is forbidden: …" of a code and a body, which is a Status object or anything else; cut
// and printable.
std::string refusal_text(int code, std::string_view body);

// "to list /api/v1/pods": what was wanted, without the query.
std::string wanted_text(ApiVerb verb, std::string_view path);

}  // namespace plughost
