#include "base/system/rate.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

TEST_CASE("pauses double up to the longest, and begin again after a reset") {
  Backoff backoff(100ms, 500ms);
  CHECK(backoff.next() == 100ms);
  CHECK(backoff.next() == 200ms);
  CHECK(backoff.next() == 400ms);
  CHECK(backoff.next() == 500ms);
  CHECK(backoff.next() == 500ms);
  backoff.reset();
  CHECK(backoff.next() == 100ms);
}
