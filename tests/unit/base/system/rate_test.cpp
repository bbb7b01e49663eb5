#include "base/system/rate.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const Rate::Clock::time_point kBegin{};

}  // namespace

TEST_CASE("a limited number is admitted within the time") {
  Rate rate(2, 10s);
  CHECK(rate.admit(kBegin) == 0u);
  CHECK(rate.admit(kBegin + 9s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 9s));
  CHECK_FALSE(rate.admit(kBegin + 10s - 1ns));
}

TEST_CASE("the first admitted one after a pause has the number that was held back, once") {
  Rate rate(2, 10s);
  for (int i = 0; i < 5; ++i) rate.admit(kBegin);
  CHECK(rate.admit(kBegin + 10s) == 3u);
  CHECK(rate.admit(kBegin + 10s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 10s));
}

TEST_CASE("the period begins again with the first after it") {
  Rate rate(1, 10s);
  CHECK(rate.admit(kBegin) == 0u);
  CHECK(rate.admit(kBegin + 15s) == 0u);
  CHECK_FALSE(rate.admit(kBegin + 24s));
  CHECK(rate.admit(kBegin + 25s) == 1u);
}
