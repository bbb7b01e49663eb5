#include "model/device/history.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

using Ids = std::vector<std::string>;
using Devices = std::vector<Device>;
constexpr BadSpells::Clock::time_point kStart{1000h};

BadSpells::Patience after(BadSpells::Clock::duration so_long) {
  return [so_long](const std::string&) { return so_long; };
}

// Returns a list of one device with this error.
std::vector<Device> device_with(const std::string& error, bool drained = false) {
  std::vector<Device> made{{.id = "a", .error = error}};
  if (drained) made[0].reasons = {Reason::drain("drained")};
  return made;
}

}  // namespace

TEST_CASE("a device is due once, when its bad spell has lasted the time and not before") {
  BadSpells spells;
  spells.record(device_with("sick"), kStart);
  CHECK(spells.since("a") == kStart);
  CHECK(spells.next_due(after(30s)) == kStart + 30s);
  CHECK(spells.take_due(kStart + 30s - 1ns, after(30s)).empty());
  CHECK(spells.take_due(kStart + 30s, after(30s)) == Ids{"a"});
  CHECK(spells.take_due(kStart + 31s, after(30s)).empty());
  CHECK(spells.next_due(after(30s)) == BadSpells::kNever);
  CHECK(spells.since("a") == kStart);
}

TEST_CASE("a changed reason, or the device's absence, continues the same spell") {
  BadSpells spells;
  spells.record(device_with("sick"), kStart);
  spells.record(Devices{{.id = "a", .error = "it is gone", .gone = true}}, kStart + 10s);
  CHECK(spells.since("a") == kStart);
  CHECK(spells.take_due(kStart + 30s, after(30s)) == Ids{"a"});
  spells.record(device_with("sicker"), kStart + 40s);
  CHECK(spells.take_due(kStart + 100s, after(30s)).empty());
}

TEST_CASE(
    "a spell ends when the device is Healthy, forgotten or drained, and the next one is counted separately") {
  std::vector<Device> between;
  SUBCASE("Healthy") { between = device_with(""); }
  SUBCASE("forgotten") { between = {}; }
  SUBCASE("drained") { between = device_with("sick", true); }
  for (const bool told : {false, true}) {
    CAPTURE(told);
    BadSpells spells;
    spells.record(device_with("sick"), kStart);
    if (told) CHECK(spells.take_due(kStart + 30s, after(30s)).size() == 1);
    spells.record(between, kStart + 30s);
    CHECK_FALSE(spells.since("a"));
    CHECK(spells.next_due(after(30s)) == BadSpells::kNever);
    CHECK(spells.take_due(kStart + 100s, after(30s)).empty());
    spells.record(device_with("sick"), kStart + 200s);
    CHECK(spells.take_due(kStart + 229s, after(30s)).empty());
    CHECK(spells.take_due(kStart + 230s, after(30s)) == Ids{"a"});
  }
}

TEST_CASE("a drained device is out of service on purpose and has no bad spell") {
  BadSpells spells;
  spells.record(device_with("drained", true), kStart);
  CHECK(spells.next_due(after(0s)) == BadSpells::kNever);
  CHECK(spells.take_due(kStart + 24h, after(0s)).empty());
}

TEST_CASE("each device has its own bad spell, and next_due() returns the earliest") {
  BadSpells spells;
  spells.record(Devices{{.id = "a"}, {.id = "b", .error = "sick"}}, kStart);
  spells.record(
      Devices{{.id = "a", .error = "sick"}, {.id = "b", .error = "sick"}, {.id = "c", .error = "sick"}},
      kStart + 5s);
  CHECK(spells.next_due(after(30s)) == kStart + 30s);
  CHECK(spells.take_due(kStart + 30s, after(30s)) == Ids{"b"});
  CHECK(spells.next_due(after(30s)) == kStart + 35s);
  // With a shorter time, as after a change of the configuration.
  CHECK(spells.take_due(kStart + 30s, after(0s)) == Ids{"a", "c"});
}

TEST_CASE("a held device has no bad spell, unless it also has an error") {
  BadSpells spells;
  Device held{.id = "a", .reasons = {Reason::holder("held", {0})}};
  spells.record(std::vector<Device>{held}, kStart);
  CHECK_FALSE(spells.since("a"));
  held.error = "sick";
  spells.record(std::vector<Device>{held}, kStart + 1s);
  CHECK(spells.since("a") == kStart + 1s);
}
