#include "base/system/tally.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace plughost;
using namespace std::chrono_literals;

TEST_CASE("a duration counts in the first bucket whose bound it does not exceed") {
  Durations durations;
  durations.add(100us);
  durations.add(101us);
  durations.add(11s);
  const Durations::Reading reading = durations.read();
  CHECK(reading.counts.front() == 1);
  CHECK(reading.counts[1] == 1);
  CHECK(reading.counts.back() == 1);
  CHECK(reading.sum == doctest::Approx(11.000201));
}

TEST_CASE("counts of several threads are all kept") {
  Durations durations;
  Counter counter;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) {
          counter.add();
          durations.add(1ms);
        }
      });
    }
  }
  CHECK(counter.count() == 4000);
  CHECK(durations.read().sum == doctest::Approx(4.0));
}
