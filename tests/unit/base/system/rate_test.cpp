#include "base/system/rate.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const Rate::Clock::time_point kBegin{};

}  // namespace

TEST_CASE("at most the given number of events is admitted within a period") {
  Rate rate(2, 10s);
  CHECK(rate.admit(kBegin) == 0u);
  CHECK(rate.admit(kBegin + 9s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 9s));
  CHECK_FALSE(rate.admit(kBegin + 10s - 1ns));
}

TEST_CASE(
    "the first event that is admitted in the next period carries the number of suppressed events, once") {
  Rate rate(2, 10s);
  for (int i = 0; i < 5; ++i) rate.admit(kBegin);
  CHECK(rate.admit(kBegin + 10s) == 3u);
  CHECK(rate.admit(kBegin + 10s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 10s));
}

TEST_CASE("a new period begins with the first event after the previous period") {
  Rate rate(1, 10s);
  CHECK(rate.admit(kBegin) == 0u);
  CHECK(rate.admit(kBegin + 15s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 24s));
  CHECK(rate.admit(kBegin + 25s) == 1u);
}
