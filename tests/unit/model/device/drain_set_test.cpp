#include "model/device/drain_set.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const std::string kA = "x.com/a";
const std::string kB = "x.com/b";
// 2025-11-21T18:00:00.000001Z in microseconds since 1970.
const Drain::Clock::time_point kThen{std::chrono::microseconds(1'763'748'000'000'001)};

Drain fan(std::optional<Drain::Clock::time_point> until = std::nullopt) {
  return {.reason = "the fan", .since = kThen, .until = until};
}

}  // namespace

TEST_CASE("a drain's text has its end and its reason, if any") {
  CHECK(Drain{.reason = "", .since = kThen}.text() == "drained");
  CHECK(fan().text() == "drained: the fan");
  CHECK(fan(kThen + 1h).text() == "drained until 2025-11-21T19:00:00Z: the fan");
}

TEST_CASE("a second drain of a device replaces the first one") {
  DrainSet drains;
  drains.set({kA, "0"}, fan(kThen + 1h));
  drains.set({kA, "0"}, {.reason = "the driver", .since = kThen + 1s});
  CHECK(drains.count() == 1);
  REQUIRE(drains.find({kA, "0"}));
  CHECK(drains.find({kA, "0"})->reason == "the driver");
  CHECK_FALSE(drains.next_end());
  CHECK_FALSE(drains.find({kB, "0"}));
  CHECK_FALSE(drains.find({kA, "1"}));
}

TEST_CASE("removing a drain succeeds once, and leaves other drains") {
  DrainSet drains;
  drains.set({kA, "0"}, fan());
  drains.set({kA, "1"}, fan());
  CHECK_FALSE(drains.remove({kA, "2"}));
  CHECK_FALSE(drains.remove({kB, "0"}));
  CHECK(drains.remove({kA, "0"}));
  CHECK_FALSE(drains.remove({kA, "0"}));
  CHECK(drains.count() == 1);
  CHECK(drains.touches(kA));
  CHECK_FALSE(drains.touches(kB));
  CHECK(drains.remove({kA, "1"}));
  CHECK(drains == DrainSet());
}

TEST_CASE("a drain ends at its time and not before, and the earliest end is next") {
  DrainSet drains;
  drains.set({kA, "0"}, fan(kThen + 2h));
  drains.set({kA, "1"}, fan());
  drains.set({kB, "0"}, fan(kThen + 1h));
  CHECK(drains.next_end() == kThen + 1h);
  CHECK(drains.expire(kThen + 1h - 1us).empty());
  CHECK(drains.expire(kThen + 1h) == std::vector<DrainSet::Name>{{kB, "0"}});
  CHECK(drains.next_end() == kThen + 2h);
  // Also if the clock jumps far beyond the end.
  CHECK(drains.expire(kThen + 24h) == std::vector<DrainSet::Name>{{kA, "0"}});
  CHECK_FALSE(drains.next_end());
  CHECK(drains.count() == 1);
}

TEST_CASE("a drained device is Unhealthy with the drain's reason, followed by its own error") {
  DrainSet drains;
  drains.set({kA, "0"}, fan());
  drains.set({kA, "1"}, fan());
  drains.set({kB, "2"}, fan());
  std::vector<Device> devices{{.id = "0"}, {.id = "1", .error = "it is gone"}, {.id = "2"}};
  drains.apply(kA, devices);
  CHECK(devices[0].reason() == "drained: the fan");
  CHECK(devices[0].drained());
  CHECK_FALSE(devices[0].healthy());
  CHECK(devices[1].reason() == "drained: the fan; and by itself: it is gone");
  CHECK(devices[1].drained());
  CHECK(devices[2].healthy());
  CHECK_FALSE(devices[2].drained());
}

TEST_CASE("the drain of a resource, or of every device, counts for devices without a drain of their own") {
  DrainSet drains;
  drains.set({kA, ""}, {.reason = "the rack", .since = kThen});
  drains.set({kA, "0"}, fan());
  const auto reasons = [&](const std::string& resource) {
    std::vector<Device> devices{{.id = "0"}, {.id = "1"}};
    drains.apply(resource, devices);
    return devices[0].reason() + '|' + devices[1].reason();
  };
  CHECK(reasons(kA) == "drained: the fan|drained: the rack");
  CHECK(reasons(kB) == "|");
  CHECK_FALSE(drains.touches(kB));
  CHECK_FALSE(drains.unreadable());
  drains.set({}, {.reason = "lost", .since = kThen});
  REQUIRE(drains.unreadable());
  CHECK(reasons(kA) == "drained: the fan|drained: the rack");
  CHECK(reasons(kB) == "drained: lost|drained: lost");
  CHECK(drains.touches(kB));
  const DrainSet::Parsed again = DrainSet::parse(drains.text());
  CHECK(again.errors.empty());
  CHECK(again.drains == drains);
  CHECK(DrainSet::Name{}.text() == "every device");
  CHECK(DrainSet::Name{kA, ""}.text() == kA);
  CHECK(DrainSet::Name{kA, "0"}.text() == kA + "=0");
}

TEST_CASE("a reason is a line of UTF-8 of 200 bytes or less") {
  CHECK(reason_error("") == "");
  CHECK(reason_error("der Lüfter") == "");
  CHECK(reason_error(std::string(200, 'x')) == "");
  CHECK(reason_error(std::string(201, 'x')) == "the reason has 201 bytes; 200 are the most");
  CHECK(reason_error("\xff") == "the reason is not UTF-8");
  CHECK(reason_error("a\nb") == "the reason is one line, without control characters");
}

TEST_CASE("saved drains are read back completely") {
  DrainSet drains;
  CHECK(DrainSet::parse(drains.text()).drains == drains);
  CHECK(DrainSet::parse(drains.text()).errors.empty());
  drains.set({kA, "0"}, fan(kThen + 90min));
  drains.set({kA, "odd \"id\"::1"}, {.reason = "", .since = kThen});
  drains.set({kB, "0"}, fan());
  const DrainSet::Parsed again = DrainSet::parse(drains.text());
  CHECK(again.errors.empty());
  CHECK(again.drains == drains);
}

TEST_CASE("a saved text that is cut off anywhere is refused as a whole") {
  DrainSet drains;
  drains.set({kA, "0"}, fan(kThen + 1h));
  drains.set({kB, "1"}, fan());
  const std::string text = drains.text();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {  // the last two bytes are "}\n"
    CAPTURE(size);
    CHECK(DrainSet::parse(text.substr(0, size)).errors.size() == 1);
    CHECK(DrainSet::parse(text.substr(0, size)).incomplete);
    CHECK(DrainSet::parse(text.substr(0, size)).drains == DrainSet());
  }
  CHECK(DrainSet::parse(text.substr(0, text.size() - 1)).errors.empty());
}

TEST_CASE("the readable drains of a document are used, and the rest is reported with its place") {
  const auto item = [](const std::string& more) {
    return R"({"resource":"x.com/a","since":"2025-11-21T18:00:00.000001Z",)" + more + "}";
  };
  const auto parsed = [](const std::string& items) {
    return DrainSet::parse(R"({"version":1,"drains":[)" + items + "]}");
  };
  const DrainSet::Parsed some =
      parsed(item(R"("device":5)") + ',' + item(R"("device":"0","reason":"the fan")") + ',' +
             item(R"("device":"1","until":"soon")") + ",7," + item(R"("device":"2","reason":"a\nb")"));
  CHECK(some.errors == std::vector<std::string>{
                           "drains[0]: it names no resource and device", "drains[2]: its 'until' is no time",
                           "drains[3]: it names no resource and device",
                           "drains[4]: the reason is one line, without control characters"});
  CHECK(some.incomplete);
  CHECK(some.drains.count() == 3);
  REQUIRE(some.drains.find({kA, "0"}));
  CHECK(*some.drains.find({kA, "0"}) == fan());
  // A drain that has its names stays, without what is damaged.
  REQUIRE(some.drains.find({kA, "1"}));
  CHECK_FALSE(some.drains.find({kA, "1"})->until);
  REQUIRE(some.drains.find({kA, "2"}));
  CHECK(some.drains.find({kA, "2"})->reason.empty());
  CHECK_FALSE(parsed(item(R"("device":"1","until":"soon")")).incomplete);
  CHECK(parsed(R"({"resource":"","device":"1","since":"2025-11-21T18:00:00.000001Z"})").incomplete);

  CHECK(DrainSet::parse(R"({"version":2,"drains":[]})").errors ==
        std::vector<std::string>{"its 'version' is not 1"});
  CHECK(DrainSet::parse("[]").errors == std::vector<std::string>{"its 'version' is not 1"});
  CHECK(DrainSet::parse(R"({"version":1,"drains":{}})").errors ==
        std::vector<std::string>{"its 'drains' is no list"});
  CHECK(DrainSet::parse(R"({"version":1})").errors == std::vector<std::string>{"its 'drains' is no list"});
  // This time is later than the clock's type can hold.
  CHECK(parsed(R"({"resource":"x","device":"0","since":"9999-01-01T00:00:00.000000Z"})").errors ==
        std::vector<std::string>{"drains[0]: its 'since' is no time"});
}
