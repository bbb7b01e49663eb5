#include "daemon/telemetry/http_message.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text/network_address.hpp"
#include "base/text/text.hpp"
#include "daemon/status/status.hpp"
#include "embedded/page.hpp"

namespace plughost {

namespace {

namespace http = boost::beast::http;

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes) {
  if (bytes.substr(0, kMostHead).find("\r\n\r\n") == std::string_view::npos) {
    if (bytes.size() < kMostHead) return std::nullopt;
    return HttpFault::kHeadTooLong;
  }
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMostHead);
  parser.body_limit(kMostBody);
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::body_limit) return HttpFault::kBodyTooLong;
  // The head is complete; only the body may be missing.
  if (!parser.is_header_done() || (error && error != http::error::need_more)) return HttpFault::kBad;
  if (!parser.is_done()) return std::nullopt;
  const auto& head = parser.get();
  // With two Host headers, the client could mean the header that is not checked.
  if (head.count(http::field::host) > 1) return HttpFault::kBad;
  const std::string target = text_of(head.target());
  const std::size_t end = std::min(target.find('?'), target.size());
  HttpRequest request{.method = text_of(head.method_string()),
                      .path = target.substr(0, end),
                      .query = target.substr(std::min(end + 1, target.size())),
                      .host = {},
                      .body = head.body()};
  if (const auto host = head.find(http::field::host); host != head.end())
    request.host = text_of(host->value());
  return request;
}

std::size_t number_in_query(std::string_view query, std::string_view name, std::size_t fallback) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      return number_in<std::size_t>(part.substr(name.size() + 1)).value_or(fallback);
  }
  return fallback;
}

namespace {

const char* reason_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

HttpReply text_reply(int code, std::string text) { return {code, kTextType, HttpBody::of(std::move(text))}; }

std::string head_of(int code, std::string_view type, std::optional<std::size_t> length) {
  std::string head = "HTTP/1.1 " + std::to_string(code) + ' ' + reason_of(code) + "\r\nContent-Type: ";
  head += type;
  head +=
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Connection: close\r\nContent-Security-Policy: ";
  head += kPagePolicy;
  head += "\r\n";
  if (length) head += "Content-Length: " + std::to_string(*length) + "\r\n";
  head += "\r\n";
  return head;
}

std::optional<HttpReply> refusal(const HttpRequest& request, HttpDoor door) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && door != HttpDoor::kControl) return text_reply(405, "this only reads: GET or HEAD\n");
  if (!reads && request.method != "POST") return text_reply(405, "there is GET, HEAD and POST\n");
  // DNS rebinding: a page of another site, whose name resolves to this machine, must not get local data.
  if (door == HttpDoor::kLoopback && request.host && !names_this_machine(*request.host))
    return text_reply(421, "plughost listens for this machine only\n");
  return std::nullopt;
}

HttpReply refusal(HttpFault fault) {
  const int code = static_cast<int>(fault);
  switch (fault) {
    case HttpFault::kBad:
      return text_reply(code, "this is no HTTP request\n");
    case HttpFault::kBodyTooLong:
      return text_reply(code, "a request's body has " + std::to_string(kMostBody) + " bytes at most\n");
    case HttpFault::kHeadTooLong:
      break;
  }
  return text_reply(code, "a request's head has " + std::to_string(kMostHead) + " bytes at most\n");
}

HttpReply not_found(HttpDoor door) {
  std::string known = "there is /, /status.json, /events.json, /stream, /events, /metrics, /healthz, /readyz";
  if (door == HttpDoor::kControl) known += "; POST /reload, /keep, /drain, /undrain";
  return text_reply(404, known + '\n');
}

HttpReply done_reply(const Json& answer, bool error) {
  return {error ? 422 : 200, kJsonType, HttpBody::of(answer.dump() + '\n')};
}

HttpReply ready(const DaemonStatus& status) {
  std::string lines;
  for (const std::string& problem : problems(status)) lines += problem + "\n";
  if (lines.empty()) return text_reply(200, "every resource is attached\n");
  return text_reply(503, std::move(lines));
}

HttpReply events(const LogHistory& history, std::uint64_t after) {
  Json::Array events;
  while (const auto record = history.after(after)) {
    after = record->number;
    events.push_back(record->json());
  }
  return {200, kJsonType, HttpBody::of(Json(std::move(events)).dump())};
}

std::string event_text(std::string_view name, std::string_view data) {
  std::string text = "event: ";
  text += name;
  text += "\ndata: ";
  text += data;
  text += "\n\n";
  return text;
}

}  // namespace plughost
