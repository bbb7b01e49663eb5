#include "daemon/telemetry/status_requests.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const SnapshotTimes::Clock::time_point kBegin{1h};
constexpr bool kIsWatched = true;
constexpr bool kOtherHolders = true;

}  // namespace

TEST_CASE("while nobody watches, nothing is due") {
  SnapshotTimes times;
  CHECK_FALSE(times.due());
  times.changed(kBegin, !kIsWatched);
  CHECK_FALSE(times.due());
}

TEST_CASE("who begins to watch is told at once") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.due() == kBegin);
  CHECK(times.begin(kBegin, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
}

TEST_CASE("changes that come together are told together, 200 ms after the first") {
  SnapshotTimes times;
  times.changed(kBegin, kIsWatched);
  CHECK(times.due() == kBegin + 200ms);
  times.changed(kBegin + 150ms, kIsWatched);
  CHECK(times.due() == kBegin + 200ms);
  CHECK(times.begin(kBegin + 200ms, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
  times.changed(kBegin + 300ms, kIsWatched);
  CHECK(times.due() == kBegin + 500ms);
}

TEST_CASE("pods are looked at every five seconds, and told only if others hold the devices") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.begin(kBegin, kIsWatched));
  CHECK(times.due() == kBegin + 5s);
  CHECK(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kBegin + 5s, kIsWatched));
  CHECK_FALSE(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kBegin + 10s, kIsWatched));
  CHECK(times.arrived(kOtherHolders));
}

TEST_CASE("a change comes before the look at the pods that is due later") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.begin(kBegin, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
  times.changed(kBegin + 1s, kIsWatched);
  CHECK(times.due() == kBegin + 1s + 200ms);
}

TEST_CASE("when the last one has gone, nothing more is made") {
  SnapshotTimes times;
  times.joined(kBegin);
  CHECK_FALSE(times.begin(kBegin, !kIsWatched));
  CHECK_FALSE(times.due());
}

TEST_CASE("one snapshot is made at a time, and a change meanwhile is told with it") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.begin(kBegin, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
  REQUIRE(times.begin(kBegin + 5s, kIsWatched));
  times.changed(kBegin + 5s, kIsWatched);
  CHECK_FALSE(times.begin(kBegin + 5s + 200ms, kIsWatched));
  CHECK(times.due() == kBegin + 10s + 200ms);
  CHECK(times.arrived(!kOtherHolders));
  CHECK(times.begin(kBegin + 10s + 200ms, kIsWatched));
}
