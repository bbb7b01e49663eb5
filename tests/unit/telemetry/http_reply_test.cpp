#include "telemetry/http_reply.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

constexpr bool kLoopback = true;

int code_of(const HttpRequest& request, bool loopback) {
  const auto reply = refusal(request, loopback);
  return reply ? reply->code : 0;
}

}  // namespace

TEST_CASE("whoever does not only read is turned away") {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "GETT", ""}) {
    CAPTURE(method);
    CHECK(code_of({.method = method, .path = "/", .host = {}}, !kLoopback) == 405);
  }
  for (const char* method : {"GET", "HEAD"})
    CHECK(code_of({.method = method, .path = "/", .host = {}}, kLoopback) == 0);
}

TEST_CASE("what listens for this machine only answers to names of this machine only") {
  CHECK(code_of({.method = "GET", .path = "/", .host = "127.attacker.example"}, kLoopback) == 421);
  CHECK(code_of({.method = "GET", .path = "/", .host = ""}, kLoopback) == 421);
  CHECK(code_of({.method = "GET", .path = "/", .host = "localhost:9464"}, kLoopback) == 0);
  CHECK(code_of({.method = "GET", .path = "/", .host = "node.example"}, !kLoopback) == 0);
}

TEST_CASE("a reply's head says what the body is, that nobody keeps it, and how long it is if that is known") {
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

TEST_CASE("it is ready when every resource is attached and every entry has been looked at") {
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
  CHECK(ready(status).body.text == "not looked at yet: example.com/b\n");
  status.entries.back().scans_completed = 1;
  CHECK(ready(status).code == 200);
  status.resources.back().stage = Stage::kBackingOff;
  CHECK(ready(status).code == 503);
  CHECK(ready(status).body.text == "not attached: example.com/a\n");
}

TEST_CASE("an event is its name and its data on a line each, and an empty line") {
  CHECK(event_text("alive", "1") == "event: alive\ndata: 1\n\n");
}
