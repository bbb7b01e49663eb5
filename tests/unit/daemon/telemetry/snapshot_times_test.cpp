#include "daemon/telemetry/status_requests.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const SnapshotTimes::Clock::time_point kBegin{1h};
constexpr bool kIsWatched = true;
constexpr bool kOtherHolders = true;

}  // namespace

TEST_CASE("no snapshot is due without watchers") {
  SnapshotTimes times;
  CHECK_FALSE(times.due());
  times.changed(kBegin, !kIsWatched);
  CHECK_FALSE(times.due());
}

TEST_CASE("a new watcher gets a snapshot at once") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.due() == kBegin);
  CHECK(times.begin(kBegin, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
}

TEST_CASE("changes within 200 ms lead to one snapshot, 200 ms after the first change") {
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

TEST_CASE("holders are queried every five seconds, and a snapshot is published only if the holders differ") {
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

TEST_CASE("a change is published before the later query of holders") {
  SnapshotTimes times;
  times.joined(kBegin);
  REQUIRE(times.begin(kBegin, kIsWatched));
  CHECK(times.arrived(!kOtherHolders));
  times.changed(kBegin + 1s, kIsWatched);
  CHECK(times.due() == kBegin + 1s + 200ms);
}

TEST_CASE("no snapshot is made after the last watcher has left") {
  SnapshotTimes times;
  times.joined(kBegin);
  CHECK_FALSE(times.begin(kBegin, !kIsWatched));
  CHECK_FALSE(times.due());
}

TEST_CASE("one snapshot is made at a time, and a change in the meantime is in the next snapshot") {
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
