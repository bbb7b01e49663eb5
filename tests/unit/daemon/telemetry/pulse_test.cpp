#include "daemon/telemetry/http_server.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const Pulse::Clock::time_point kNow{1h};

}  // namespace

TEST_CASE("the pulse waits for less than 50 ms for the loop's answer") { CHECK(Pulse::kAnswer < 50ms); }

TEST_CASE("a loop that has never been queried is alive") { CHECK(Pulse().alive(kNow)); }

TEST_CASE("the loop is queried once, however many callers wait") {
  Pulse pulse;
  CHECK(pulse.ask(kNow));
  CHECK_FALSE(pulse.ask(kNow));
  CHECK_FALSE(pulse.ask(kNow + 1h));
  pulse.answered();
  CHECK(pulse.ask(kNow + 2h));
}

TEST_CASE(
    "a loop that has been silent for less than 5 s is alive, and one that has been silent for 5 s is not") {
  Pulse pulse;
  pulse.ask(kNow);
  CHECK(pulse.alive(kNow + 50ms));
  CHECK(pulse.alive(kNow + 5s - 1ms));
  CHECK_FALSE(pulse.alive(kNow + 5s));
  CHECK_FALSE(pulse.alive(kNow + 1h));
}

TEST_CASE("a loop's silence counts from the first unanswered query, not from the last") {
  Pulse pulse;
  pulse.ask(kNow);
  pulse.ask(kNow + 4s);
  CHECK_FALSE(pulse.alive(kNow + 6s));
}

TEST_CASE("a loop that responds late is alive again, and its next silence is counted separately") {
  Pulse pulse;
  pulse.ask(kNow);
  pulse.answered();
  CHECK(pulse.alive(kNow + 1h));
  pulse.ask(kNow + 1h);
  CHECK(pulse.alive(kNow + 1h + 4s));
}
