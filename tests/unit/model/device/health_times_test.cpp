#include "model/device/history.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

std::vector<Device> devices(std::initializer_list<std::pair<const char*, const char*>> ids_and_errors) {
  std::vector<Device> made;
  for (const auto& [id, error] : ids_and_errors) made.push_back({.id = id, .error = error});
  return made;
}

const HealthTimes::Clock::time_point kStart{1000s};

}  // namespace

TEST_CASE("a device is as it is since the resource came, until its health changes") {
  HealthTimes times;
  const auto first = devices({{"a", ""}, {"b", ""}});
  const auto second = devices({{"a", ""}, {"b", "sick"}});
  const auto third = devices({{"a", ""}, {"b", "sicker"}});
  times.record({}, first, kStart);
  CHECK(times.since("b") == kStart);
  times.record(first, second, kStart + 5s);
  CHECK(times.since("a") == kStart);
  CHECK(times.since("b") == kStart + 5s);
  times.record(second, third, kStart + 6s);
  CHECK(times.since("b") == kStart + 5s);
  times.record(third, first, kStart + 9s);
  CHECK(times.since("b") == kStart + 9s);
}

TEST_CASE("a device that comes later, or comes back, is new") {
  HealthTimes times;
  const auto one = devices({{"b", ""}});
  const auto three = devices({{"a", ""}, {"b", ""}, {"c", ""}});
  times.record({}, one, kStart);
  times.record(one, three, kStart + 1s);
  CHECK(times.since("a") == kStart + 1s);
  CHECK(times.since("b") == kStart);
  CHECK(times.since("c") == kStart + 1s);
  times.record(three, one, kStart + 2s);
  times.record(one, three, kStart + 3s);
  CHECK(times.since("a") == kStart + 3s);
  CHECK(times.since("c") == kStart + 3s);
}
