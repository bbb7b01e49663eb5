#include "telemetry/http_reply.hpp"

#include "embedded/page.hpp"
#include "supervisor/readiness.hpp"
#include "telemetry/listen_address.hpp"

namespace plughost {
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
  // A page of another site whose name leads here must not read what only this machine may.
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
