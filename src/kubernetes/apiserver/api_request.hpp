#pragma once
// A request to the API server, its answer, and messages about both. Plain values and pure functions,
// thread-safe.

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

// The verbs, as in RBAC and the metrics.
enum class ApiVerb { kGet, kList, kWatch, kCreate, kUpdate, kPatch, kDelete };
// Returns "get", "list", "watch", "create", "update", "patch" or "delete".
std::string_view word_of(ApiVerb verb);

struct ApiRequest {
  // Content types of patches.
  static constexpr const char* kJson = "application/json";
  static constexpr const char* kMergePatch = "application/merge-patch+json";

  // A text, or a function that makes it of the node's name, which is unknown until credentials are read.
  using Text = std::variant<std::string, std::function<std::string(const std::string& node)>>;

  ApiVerb verb = ApiVerb::kGet;
  Text path;  // with its query: "/api/v1/pods?limit=500"; variable parts must be url_encoded()
  std::string content_type = kJson;  // of the body
  Text body;                         // for kCreate, kUpdate and kPatch
  // The deadline runs from send() to the answer, including the wait for credentials and for a connection.
  std::chrono::milliseconds deadline = std::chrono::seconds(10);
  std::size_t most_answer = std::size_t{3} << 19u;  // in bytes: 1.5 MiB, as for etcd's objects
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

  // A longer Retry-After is cut to this.
  static constexpr std::chrono::seconds kLongestRetryAfter{60};

  int code = 0;  // HTTP status; 0: there was no answer
  std::string body;
  // Why the request failed, on one line, with the server's message, cut and printable; empty for a 2xx.
  std::string error;
  std::optional<std::chrono::seconds> retry_after;
  // True if no server answers at the address: no process listens, or a load balancer has closed the
  // connection at once. Retrying soon is harmless.
  bool nobody = false;

  bool ok() const { return code >= 200 && code < 300 && error.empty(); }
};

// Encodes a part of a path or of a query's value: everything but letters, digits and -._~ becomes %XX.
std::string url_encoded(std::string_view text);

// Parses a JSON value. Leaves out `managedFields`, which are never used and are a third of an object. Numbers
// other than 64-bit integers become strings. If the text is malformed, returns the reason, as a sentence.
std::variant<Json, std::string> parse_api_json(std::string_view text);
// Parses only the members that `kept` names, see JsonTerms::kept and most_kept. If the text is truncated,
// parses the part before its end.
JsonPart parse_api_part(std::string_view text, std::span<const std::string> kept, std::size_t most_kept);

// Returns "403 Forbidden: pods is forbidden: …" for a code and a body (a Status object or any other text),
// cut and printable.
std::string refusal_text(int code, std::string_view body);

// Returns what was requested, without the query: "to list /api/v1/pods".
std::string wanted_text(ApiVerb verb, std::string_view path);

}  // namespace plughost
