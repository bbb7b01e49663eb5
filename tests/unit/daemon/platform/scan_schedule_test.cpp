#include "daemon/platform/scan_schedule.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = ScanSchedule::Clock;

constexpr Clock::time_point kStart{1000h};
constexpr Clock::time_point kNever = ScanSchedule::kNever;

// Returns a schedule whose last scan began at kStart and took 10 ms, after `former` scans without a pause.
ScanSchedule rested(std::chrono::seconds rescan_after = 0s, int former = 0) {
  ScanSchedule schedule;
  for (int i = 0; i < former; ++i) {
    schedule.begin(kStart);
    schedule.succeed(kStart, 0s);
  }
  schedule.begin(kStart);
  schedule.succeed(kStart + 10ms, rescan_after);
  return schedule;
}

// Returns a schedule that has spent its budget of five scans.
ScanSchedule spent() { return rested(0s, 4); }

TEST_CASE("no scan is due without an event, or while a scan runs") {
  ScanSchedule schedule;
  schedule.begin(kStart);
  CHECK(schedule.due() == kNever);
  schedule.request_scan(kStart + 1h);
  CHECK(schedule.due() == kNever);
  CHECK(rested().due() == kNever);
}

TEST_CASE("each of five requests in a row leads to a scan at once, and the sixth waits") {
  ScanSchedule schedule;
  auto now = kStart;
  for (int i = 0; i < 5; ++i) {
    schedule.request_scan(now);
    CHECK(schedule.due() == now);
    schedule.begin(now);
    schedule.succeed(now, 0s);
  }
  schedule.request_scan(now + 1ms);
  CHECK(schedule.due() == now + 101ms);
}

TEST_CASE(
    "an entry that has scanned five times in a row may scan once more after 100 ms, and five times after 500 "
    "ms") {
  auto schedule = spent();
  const auto scans_at = [&](Clock::time_point now) {
    schedule.request_scan(now);
    if (schedule.due() != now) return false;
    schedule.begin(now);
    schedule.succeed(now, 0s);
    return true;
  };
  SUBCASE("no scan after 99 ms") { CHECK_FALSE(scans_at(kStart + 99ms)); }
  SUBCASE("one scan after 100 ms") {
    CHECK(scans_at(kStart + 100ms));
    CHECK_FALSE(scans_at(kStart + 100ms));
  }
  SUBCASE("five scans after 500 ms or any longer rest") {
    for (const auto rest : {500ms, 2000ms, 3'600'000ms}) {
      schedule = spent();
      for (int i = 0; i < 5; ++i) CHECK(scans_at(kStart + rest));
      CHECK_FALSE(scans_at(kStart + rest));
    }
  }
}

TEST_CASE("a storm of events leads to five scans in its first second") {
  ScanSchedule schedule;
  int scans = 0;
  for (auto now = kStart; now < kStart + 1s; now += 1ms) {
    if ((now - kStart) % 10ms == 0ms) schedule.request_scan(now);
    if (schedule.due() > now) continue;
    schedule.begin(now);
    schedule.succeed(now, 0s);
    ++scans;
  }
  CHECK(scans == 5);
}

TEST_CASE("requests beyond the budget wait for 100 quiet milliseconds, but for one second at most") {
  auto schedule = spent();
  const auto first = kStart + 20ms;
  schedule.request_scan(first);
  for (auto waited = 50ms; waited <= 900ms; waited += 50ms) {
    schedule.request_scan(first + waited);
    CHECK(schedule.due() == first + waited + 100ms);
  }
  schedule.request_scan(first + 901ms);
  CHECK(schedule.due() == first + 1000ms);
  schedule.request_scan(first + 999ms);
  CHECK(schedule.due() == first + 1000ms);
  schedule.begin(first + 1000ms);
  CHECK(schedule.due() == kNever);
  schedule.succeed(first + 1001ms, 0s);
  CHECK(schedule.due() == kNever);
}

TEST_CASE("after each scan, the limit of one second begins again with the next request") {
  auto schedule = spent();
  schedule.request_scan(kStart + 20ms);
  schedule.begin(kStart + 120ms);
  schedule.succeed(kStart + 130ms, 0s);
  const auto first = kStart + 140ms;
  for (auto waited = 0ms; waited <= 990ms; waited += 90ms) schedule.request_scan(first + waited);
  CHECK(schedule.due() == first + 1000ms);
}

TEST_CASE("a scan that is due is not delayed by a later request") {
  auto schedule = rested();
  schedule.request_scan(kStart + 200ms);
  schedule.request_scan(kStart + 250ms);
  CHECK(schedule.due() == kStart + 200ms);
  schedule.follow_more(kStart + 260ms);
  schedule.request_scan(kStart + 261ms);
  CHECK(schedule.due() == kStart + 260ms);
}

TEST_CASE("an event during a scan leads to a further scan, whether the running scan succeeds or fails") {
  ScanSchedule schedule;
  schedule.begin(kStart);
  schedule.request_scan(kStart + 5ms);
  CHECK(schedule.due() == kNever);
  SUBCASE("the scan succeeds") { schedule.succeed(kStart + 10ms, 0s); }
  SUBCASE("the scan fails") { schedule.fail(kStart + 10ms); }
  CHECK(schedule.due() == kStart + 10ms);
  schedule.begin(kStart + 200ms);
  schedule.succeed(kStart + 210ms, 0s);
  CHECK(schedule.due() == kNever);
}

TEST_CASE("if the budget is spent, an event during a scan waits from the scan's end") {
  auto schedule = spent();
  schedule.begin(kStart + 10ms);
  schedule.request_scan(kStart + 15ms);
  schedule.succeed(kStart + 20ms, 0s);
  CHECK(schedule.due() == kStart + 120ms);
}

TEST_CASE("a new watch leads to a scan at once") {
  ScanSchedule schedule;
  schedule.begin(kStart);
  SUBCASE("without an event") {}
  SUBCASE("after an event during the scan") { schedule.request_scan(kStart + 5ms); }
  schedule.succeed(kStart + 10ms, 0s);
  schedule.follow_more(kStart + 10ms);
  CHECK(schedule.due() == kStart + 10ms);
}

TEST_CASE(
    "the next scan is due at the earliest of the former scan's request, the next known change and an event") {
  auto schedule = rested(5s);
  CHECK(schedule.due() == kStart + 10ms + 5s);
  schedule.change_at(kStart + 6s);
  CHECK(schedule.due() == kStart + 10ms + 5s);
  schedule.change_at(kStart + 3s);
  CHECK(schedule.due() == kStart + 3s);
  schedule.request_scan(kStart + 2s);
  CHECK(schedule.due() == kStart + 2s);
  schedule.begin(kStart + 2s);
  schedule.succeed(kStart + 2s, 0s);
  CHECK(schedule.due() == kNever);
}

TEST_CASE(
    "a change without an event waits for 100 ms from the latest scan's start, and earlier due times are "
    "dropped") {
  auto schedule = rested();
  schedule.change_at(kNever);
  CHECK(schedule.due() == kNever);
  schedule.change_at(kStart);
  CHECK(schedule.due() == kNever);
  schedule.change_at(kStart + 1ms);
  CHECK(schedule.due() == kStart + 100ms);
}

TEST_CASE("a failing scan is retried after 1 s, 2 s and so on, at most 60 s") {
  ScanSchedule schedule;
  auto now = kStart;
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    schedule.begin(now);
    schedule.fail(now);
    CHECK(schedule.due() == now + pause);
    now = schedule.due();
  }
  schedule.request_scan(now - 30s);
  CHECK(schedule.due() == now - 30s);
  schedule.begin(now);
  schedule.succeed(now, 0s);
  CHECK(schedule.due() == kNever);
  schedule.begin(now);
  schedule.fail(now);
  CHECK(schedule.due() == now + 1s);
}

TEST_CASE("a scan that exceeds its deadline is a stall until a scan ends, successfully or not") {
  auto schedule = rested();
  CHECK_FALSE(schedule.stalled());
  schedule.begin(kStart + 1s);
  schedule.overdue();
  CHECK(schedule.stalled());
  SUBCASE("the scan succeeds") { schedule.succeed(kStart + 9s, 0s); }
  SUBCASE("the scan fails") { schedule.fail(kStart + 9s); }
  SUBCASE("a scan of a new source succeeds") {
    schedule.replace(kStart + 9s);
    CHECK(schedule.stalled());
    schedule.begin(kStart + 9s);
    CHECK(schedule.stalled());
    schedule.succeed(kStart + 9s, 0s);
  }
  CHECK_FALSE(schedule.stalled());
}

TEST_CASE("a new source is scanned at once, whatever the state of the former source") {
  ScanSchedule schedule;
  schedule.begin(kStart);
  SUBCASE("a scan runs") {}
  SUBCASE("a scan has exceeded its deadline, and an event has happened") {
    schedule.overdue();
    schedule.request_scan(kStart + 1ms);
  }
  SUBCASE("the next scan waits after failures") {
    schedule.fail(kStart);
    schedule.begin(kStart + 1s);
    schedule.fail(kStart + 1s);
  }
  schedule.replace(kStart + 1s);
  CHECK(schedule.due() == kStart + 1s);
  schedule.begin(kStart + 1s);
  CHECK(schedule.due() == kNever);
  schedule.fail(kStart + 1s);
  CHECK(schedule.due() == kStart + 2s);
}

TEST_CASE("a storm of events leads to one scan each second after the first five") {
  auto schedule = rested();
  int scans = 0;
  for (auto now = kStart + 20ms; now < kStart + 20ms + 10s; now += 1ms) {
    if (schedule.due() <= now) {
      schedule.begin(now);
      schedule.succeed(now, 0s);
      ++scans;
    }
    schedule.request_scan(now);
  }
  CHECK(scans == 4 + 9);
}

}  // namespace
}  // namespace plughost
