#include "daemon/drain/drain_controller.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

std::string error_of_duration(std::chrono::seconds duration) {
  return error_of(
      {.resource = "x", .device = "0", .terms = DrainOrder::Terms{.reason = "", .duration = duration}});
}

}  // namespace

TEST_CASE("a drain may last from a second to 1000 days, or have no end") {
  const std::string refused = "a device is drained for a second to 1000 days";
  CHECK(error_of_duration(0s) == refused);
  CHECK(error_of_duration(1s) == "");
  CHECK(error_of_duration(std::chrono::days(1000)) == "");
  CHECK(error_of_duration(std::chrono::days(1000) + 1s) == refused);
  CHECK(error_of({.resource = "x", .device = "0", .terms = DrainOrder::Terms{}}) == "");
  CHECK(error_of({.resource = "x", .device = "0", .terms = DrainOrder::Terms{.reason = "a\nb"}}) != "");
  CHECK(error_of({.resource = "x", .device = "0", .terms = std::nullopt}) == "");
}

TEST_CASE("a device is found by its own id or by the id of one of its replicas") {
  const Inventory inventory({{.id = "a"}, {.id = "b", .replicas = 2}});
  CHECK(device_named(inventory, "a")->id == "a");
  CHECK(device_named(inventory, "b")->id == "b");
  CHECK(device_named(inventory, "b::1")->id == "b");
  for (const char* id : {"", "a::0", "b::2", "aa", "c"}) CHECK(device_named(inventory, id) == nullptr);
}

TEST_CASE("the refusal of an unknown resource or device lists at most 16 of the known ones") {
  std::vector<std::string> known;
  CHECK(no_such("resource", "c", known) == "there is no resource c; there is none at all");
  known = {"a"};
  CHECK(no_such("resource", "c", known) == "there is no resource c; there is a");
  known = {"a", "b"};
  CHECK(no_such("device of x", "c", known) == "there is no device of x c; there are a, b");
  known.assign(16, "a");
  CHECK(no_such("resource", "c", known).find("more") == std::string::npos);
  known.assign(18, "a");
  CHECK(no_such("resource", "c", known).ends_with(", a and 2 more"));
}

TEST_CASE("a drain is refused for an unlisted device, and an undrain without a drain or a lasting fault") {
  const auto snapshot = [](const std::string& resource, std::vector<Device> devices) {
    ResourceSnapshot made;
    made.resource = resource;
    made.inventory = Inventory(std::move(devices));
    return std::make_shared<const ResourceSnapshot>(std::move(made));
  };
  const std::vector<SharedSnapshot> snapshots = {
      snapshot("x/b", {{.id = "0"}, {.id = "1"}}),
      snapshot("x/a", {{.id = "7"}, {.id = "sick", .error = "XID 95", .lasting = true}})};
  CHECK(device_named(snapshots, "x/b", "1")->id == "1");
  CHECK(device_named(snapshots, "x/b", "7") == nullptr);
  CHECK(device_named(snapshots, "x/c", "1") == nullptr);

  const DrainOrder drain{.resource = {}, .device = {}, .terms = DrainOrder::Terms{}};
  const DrainOrder undrain;
  DrainSet drains;
  CHECK(why_not(drain, {"x/b", "1"}, drains, snapshots) == "");
  CHECK(why_not(drain, {"x/b", "7"}, drains, snapshots) == "there is no device of x/b 7; there are 0, 1");
  CHECK(why_not(drain, {"x/c", "1"}, drains, snapshots) == "there is no resource x/c; there are x/a, x/b");
  CHECK(why_not(undrain, {"x/b", "1"}, drains, snapshots) ==
        "there is no drained device x/b=1; there is none at all");
  // A device with a lasting fault need not be drained to be undrained.
  CHECK(why_not(undrain, {"x/a", "sick"}, drains, snapshots) == "");
  CHECK(why_not(undrain, {"x/a", "7"}, drains, snapshots) != "");
  // The drain of a device that is gone can be renewed or ended.
  drains.set({"x/c", "1"}, Drain{});
  CHECK(why_not(drain, {"x/c", "1"}, drains, snapshots) == "");
  CHECK(why_not(undrain, {"x/c", "1"}, drains, snapshots) == "");
  CHECK(why_not(undrain, {"x/c", "2"}, drains, snapshots) ==
        "there is no drained device x/c=2; there is x/c=1");
  DrainOrder wrong = drain;
  wrong.terms->reason = "a\nb";
  CHECK(why_not(wrong, {"x/c", "1"}, drains, snapshots) != "");
}

TEST_CASE("the response to a drain has the device's state and holders, and a refusal has only the reason") {
  CHECK(DrainAnswer{.error = "there is none"}.json().dump() == R"({"error":"there is none"})");
  DrainAnswer answer{.name = {"x.com/a", "0"}};
  answer.drain = Drain{.reason = "the fan", .since = Drain::Clock::time_point(1h)};
  answer.devices = {{.id = "0", .error = "drained: the fan", .replicas = 2}};
  answer.holdings = std::make_shared<const Holdings>(
      Holdings{{"x.com/a", {{"0::1", {.pod_namespace = "default", .pod = "p", .container = "c"}}}}});
  CHECK(answer.json().dump() ==
        R"({"error":"","resource":"x.com/a","device":"0","drained":true,"what":"drained: the fan",)"
        R"("reason":"the fan","since":"1970-01-01T01:00:00.000000Z","until":null,"former":"","unsaved":"",)"
        R"("health":"Unhealthy","trouble":"drained: the fan",)"
        R"("holders":[{"id":"0::1","namespace":"default","pod":"p","container":"c"}],"holdersUnknown":""})");
  answer.drain.reset();
  CHECK_FALSE(answer.json()["drained"].truth());
  CHECK(answer.json()["what"].is_null());
}
