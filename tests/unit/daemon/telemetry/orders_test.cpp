#include "daemon/telemetry/orders.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

HttpRequest posted(const char* path, std::string body = {}) {
  return {.method = "POST", .path = path, .query = {}, .host = {}, .body = std::move(body)};
}

Order ordered(const HttpRequest& request) {
  const auto read = order_of(request);
  REQUIRE(read.has_value());
  if (const auto* const error = std::get_if<std::string>(&*read)) FAIL(*error);
  return std::get<Order>(*read);
}

std::string error_of(const char* path, std::string body) {
  const auto read = order_of(posted(path, std::move(body)));
  REQUIRE(read.has_value());
  REQUIRE(std::holds_alternative<std::string>(*read));
  return std::get<std::string>(*read);
}

DrainOrder drain_of(const HttpRequest& request) { return std::get<DrainOrder>(ordered(request)); }

}  // namespace

TEST_CASE(
    "a reload needs no body, and its body may have a log level and the length of a trial, in JSON or YAML") {
  CHECK(ordered(posted("/reload")) == Order(ReloadOrder{}));
  CHECK(ordered(posted("/reload", "{}")) == Order(ReloadOrder{}));
  CHECK(ordered(posted("/reload", R"({"logLevel": "debug", "confirm": "1m30s"})")) ==
        Order(ReloadOrder{.level = LogLevel::kDebug, .confirm = 90s}));
  CHECK(ordered(posted("/reload", "confirm: 5m")) == Order(ReloadOrder{.level = {}, .confirm = 5min}));
  CHECK(ordered(posted("/keep")) == Order(KeepOrder()));
}

TEST_CASE("a drain names a device, and may have a reason and a duration") {
  const DrainOrder drain = drain_of(posted("/drain", "{resource: a.b/c, device: d-1, reason: fan, for: 2h}"));
  CHECK(drain.resource == "a.b/c");
  CHECK(drain.device == "d-1");
  REQUIRE(drain.terms.has_value());
  CHECK(drain.terms->reason == "fan");
  CHECK(drain.terms->duration == 2h);
  const DrainOrder lasting = drain_of(posted("/drain", "{resource: a.b/c, device: d-1}"));
  REQUIRE(lasting.terms.has_value());
  CHECK_FALSE(lasting.terms->duration.has_value());
  CHECK_FALSE(drain_of(posted("/undrain", "{resource: a.b/c, device: d-1}")).terms.has_value());
  CHECK(drain_of(posted("/drain", "{resource: a.b/c}")).device.empty());
  CHECK(drain_of(posted("/undrain", "{unreadable: true}")) == DrainOrder());
  CHECK(drain_of(request_of(DrainOrder{})) == DrainOrder());
  const DrainOrder whole{.resource = "a.b/c", .device = {}, .terms = DrainOrder::Terms{.reason = "x"}};
  CHECK(drain_of(request_of(whole)) == whole);
}

TEST_CASE("an invalid order is refused with the position of the error and a remedy") {
  CHECK(error_of("/reload", "logLevel: loud") ==
        "/reload:1:11: logLevel: 'loud' is not one of debug, info, warn, error");
  CHECK(error_of("/reload", "confirm: 2d").find("from 1s to 1d") != std::string::npos);
  CHECK(error_of("/reload", "confrim: 1m").find("did you mean 'confirm'?") != std::string::npos);
  CHECK(error_of("/keep", "x: y").find("x") != std::string::npos);
  CHECK(error_of("/drain", "").find("resource") != std::string::npos);
  CHECK(error_of("/drain", "{resource: a.b/c, device: d, for: 90}").find("for") != std::string::npos);
  CHECK(error_of("/undrain", "{resource: a.b/c, device: d, reason: x}").find("reason") != std::string::npos);
  CHECK(error_of("/reload", "{{{").find("/reload:1:") == 0);
  CHECK(error_of("/reload", "[1]").find("a list") != std::string::npos);
}

TEST_CASE("a request for any other path is no order") {
  for (const char* path : {"/", "/reload/", "/status.json", "/drains"}) CHECK_FALSE(order_of(posted(path)));
}

TEST_CASE("the daemon reads each order that the client writes, whatever its texts contain") {
  for (const ReloadOrder& reload :
       {ReloadOrder{}, ReloadOrder{.level = LogLevel::kWarn, .confirm = {}},
        ReloadOrder{.level = {}, .confirm = 24h}, ReloadOrder{.level = LogLevel::kError, .confirm = 1s}})
    CHECK(ordered(request_of(reload)) == Order(reload));
  CHECK(ordered(request_of(KeepOrder())) == Order(KeepOrder()));
  for (const HandOverStep step : {HandOverStep::kUpgrade, HandOverStep::kBegin, HandOverStep::kEnd})
    CHECK(ordered(request_of(HandOverOrder{step})) == Order(HandOverOrder{step}));
  for (const std::string text : {"plain", "a: b", "\"quoted\" 'twice'", "*alias &anchor !tag", "\\n \\u0041",
                                 "\ttab", "{[", "#", "ü€😀", "true", "12", "null", "~"}) {
    CAPTURE(text);
    const DrainOrder drain{.resource = "a.b/c",
                           .device = text,
                           .terms = DrainOrder::Terms{.reason = text, .duration = 1000 * 24h}};
    const DrainOrder read = drain_of(request_of(drain));
    CHECK(read.resource == drain.resource);
    CHECK(read.device == text);
    REQUIRE(read.terms.has_value());
    CHECK(read.terms->reason == text);
    CHECK(read.terms->duration == drain.terms->duration);
    const DrainOrder back = drain_of(request_of(DrainOrder{.resource = "r", .device = text, .terms = {}}));
    CHECK(back.device == text);
    CHECK_FALSE(back.terms.has_value());
  }
}
