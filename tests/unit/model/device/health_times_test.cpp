#include "model/device/history.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

std::vector<Device> devices_with(std::initializer_list<std::pair<const char*, const char*>> ids_and_errors) {
  std::vector<Device> made;
  for (const auto& [id, error] : ids_and_errors) made.push_back({.id = id, .error = error});
  return made;
}

const HealthTimes::Clock::time_point kClockStart{1000s};

}  // namespace

TEST_CASE("a device's state dates from the resource's start, until its health changes") {
  HealthTimes times;
  const auto first = devices_with({{"a", ""}, {"b", ""}});
  const auto second = devices_with({{"a", ""}, {"b", "sick"}});
  const auto third = devices_with({{"a", ""}, {"b", "sicker"}});
  times.record({}, first, kClockStart);
  CHECK(times.since("b") == kClockStart);
  times.record(first, second, kClockStart + 5s);
  CHECK(times.since("a") == kClockStart);
  CHECK(times.since("b") == kClockStart + 5s);
  times.record(second, third, kClockStart + 6s);
  CHECK(times.since("b") == kClockStart + 5s);
  times.record(third, first, kClockStart + 9s);
  CHECK(times.since("b") == kClockStart + 9s);
}

TEST_CASE("the state of a device that appears later, or that returns, begins then") {
  HealthTimes times;
  const auto one = devices_with({{"b", ""}});
  const auto three = devices_with({{"a", ""}, {"b", ""}, {"c", ""}});
  times.record({}, one, kClockStart);
  times.record(one, three, kClockStart + 1s);
  CHECK(times.since("a") == kClockStart + 1s);
  CHECK(times.since("b") == kClockStart);
  CHECK(times.since("c") == kClockStart + 1s);
  times.record(three, one, kClockStart + 2s);
  times.record(one, three, kClockStart + 3s);
  CHECK(times.since("a") == kClockStart + 3s);
  CHECK(times.since("c") == kClockStart + 3s);
}
