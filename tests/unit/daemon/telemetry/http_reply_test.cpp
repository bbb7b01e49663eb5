#include "daemon/telemetry/http_message.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

using enum HttpDoor;

HttpRequest parsed_request(const char* method, std::optional<std::string> host = std::nullopt) {
  return {.method = method, .path = "/", .query = {}, .host = std::move(host), .body = {}};
}

int code_of(const HttpRequest& request, HttpDoor door) {
  const auto reply = refusal(request, door);
  return reply ? reply->code : 0;
}

}  // namespace

TEST_CASE("on a network address only reads are accepted") {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "GETT", ""}) {
    CAPTURE(method);
    CHECK(code_of(parsed_request(method), kNetwork) == 405);
    CHECK(code_of(parsed_request(method), kLoopback) == 405);
  }
  for (const char* method : {"GET", "HEAD"}) CHECK(code_of(parsed_request(method), kLoopback) == 0);
}

TEST_CASE("the control socket accepts orders, whatever Host the client sends") {
  for (const char* method : {"GET", "HEAD", "POST"})
    CHECK(code_of(parsed_request(method, "whatever.example"), kControl) == 0);
  for (const char* method : {"PUT", "DELETE", "post", ""})
    CHECK(code_of(parsed_request(method), kControl) == 405);
}

TEST_CASE("a local address answers only to local host names") {
  CHECK(code_of(parsed_request("GET", "127.attacker.example"), kLoopback) == 421);
  CHECK(code_of(parsed_request("GET", ""), kLoopback) == 421);
  CHECK(code_of(parsed_request("GET", "localhost:9464"), kLoopback) == 0);
  CHECK(code_of(parsed_request("GET", "node.example"), kNetwork) == 0);
}

TEST_CASE(
    "an unknown path is answered with the known ones, and orders are accepted only on the control socket") {
  CHECK(not_found(kControl).code == 404);
  CHECK(not_found(kControl).body.text.find("POST /reload") != std::string::npos);
  CHECK(not_found(kNetwork).body.text.find("POST") == std::string::npos);
}

TEST_CASE("an order that was not carried out is an error with its reason") {
  const HttpReply refused = done_reply(Json{{"error", "no"}}, true);
  CHECK(refused.code == 422);
  CHECK(refused.type == kJsonType);
  CHECK(refused.body.text == "{\"error\":\"no\"}\n");
  CHECK(done_reply(Json{{"error", ""}}, false).code == 200);
}

TEST_CASE("a response's head has the type, forbids caching, and has the length if it is known") {
  const std::string head = head_of(503, kTextType, 7);
  CHECK(head.starts_with("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  for (const char* line : {"\r\nCache-Control: no-store\r\n", "\r\nX-Content-Type-Options: nosniff\r\n",
                           "\r\nReferrer-Policy: no-referrer\r\n", "\r\nConnection: close\r\n",
                           "\r\nContent-Security-Policy: default-src 'none'; ", "\r\nContent-Length: 7\r\n"})
    CHECK_MESSAGE(head.find(line) != std::string::npos, line);
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(head_of(200, kEventStreamType, std::nullopt).find("Content-Length") == std::string::npos);
  CHECK(head_of(431, kTextType, 0).starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
}

TEST_CASE("the node is ready when every resource is attached and every entry scanned") {
  DaemonStatus status;
  CHECK(ready(status).code == 200);
  ResourceStatus resource;
  resource.name = "example.com/a";
  resource.entry = "example.com/{name}";
  resource.stage = Stage::kAttached;
  status.resources.push_back(resource);
  EntryStatus entry;
  entry.name = "example.com/{name}";
  status.entries.push_back(entry);
  CHECK(ready(status).code == 200);
  entry.name = "example.com/b";
  status.entries.push_back(entry);
  CHECK(ready(status).code == 503);
  CHECK(ready(status).body.text == "not scanned yet: example.com/b\n");
  status.entries.back().scans_completed = 1;
  CHECK(ready(status).code == 200);
  status.resources.back().stage = Stage::kBackingOff;
  CHECK(ready(status).code == 503);
  CHECK(ready(status).body.text == "not attached: example.com/a\n");
}

TEST_CASE("a server-sent event has its name and its data on a line each, and an empty line") {
  CHECK(event_text("alive", "1") == "event: alive\ndata: 1\n\n");
}
