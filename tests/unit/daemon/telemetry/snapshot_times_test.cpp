#include "daemon/telemetry/status_requests.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const SnapshotTimes::Clock::time_point kNow{1h};
constexpr bool kWatched = true;
constexpr bool kOtherHolders = true;

}  // namespace

TEST_CASE("while nobody watches, nothing is due") {
  SnapshotTimes times;
  CHECK_FALSE(times.due());
  times.changed(kNow, !kWatched);
  CHECK_FALSE(times.due());
}

TEST_CASE("who begins to watch is told at once") {
  SnapshotTimes times;
  times.joined(kNow);
  REQUIRE(times.due() == kNow);
  CHECK(times.begin(kNow, kWatched));
  CHECK(times.arrived(!kOtherHolders));
}

TEST_CASE("changes that come together are told together, 200 ms after the first") {
  SnapshotTimes times;
  times.changed(kNow, kWatched);
  CHECK(times.due() == kNow + 200ms);
  times.changed(kNow + 150ms, kWatched);
  CHECK(times.due() == kNow + 200ms);
  CHECK(times.begin(kNow + 200ms, kWatched));
  CHECK(times.arrived(!kOtherHolders));
  times.changed(kNow + 300ms, kWatched);
  CHECK(times.due() == kNow + 500ms);
}

TEST_CASE("pods are looked at every five seconds, and told only if others hold the devices") {
  SnapshotTimes times;
  times.joined(kNow);
  REQUIRE(times.begin(kNow, kWatched));
  CHECK(times.due() == kNow + 5s);
  CHECK(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kNow + 5s, kWatched));
  CHECK_FALSE(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kNow + 10s, kWatched));
  CHECK(times.arrived(kOtherHolders));
}

TEST_CASE("a change comes before the look at the pods that is due later") {
  SnapshotTimes times;
  times.joined(kNow);
  REQUIRE(times.begin(kNow, kWatched));
  CHECK(times.arrived(!kOtherHolders));
  times.changed(kNow + 1s, kWatched);
  CHECK(times.due() == kNow + 1s + 200ms);
}

TEST_CASE("when the last one has gone, nothing more is made") {
  SnapshotTimes times;
  times.joined(kNow);
  CHECK_FALSE(times.begin(kNow, !kWatched));
  CHECK_FALSE(times.due());
}

TEST_CASE("one snapshot is made at a time, and a change meanwhile is told with it") {
  SnapshotTimes times;
  times.joined(kNow);
  REQUIRE(times.begin(kNow, kWatched));
  CHECK(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kNow + 5s, kWatched));
  times.changed(kNow + 5s, kWatched);
  CHECK_FALSE(times.begin(kNow + 5s + 200ms, kWatched));
  CHECK(times.due() == kNow + 10s + 200ms);
  CHECK(times.arrived(!kOtherHolders));
  CHECK(times.begin(kNow + 10s + 200ms, kWatched));
}
