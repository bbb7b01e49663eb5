#include "model/device/history.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Damping::Clock;

constexpr Clock::time_point kStart{1000h};
const std::string kReason =
    "flapping: it changed more than 5 times in a minute; Healthy again after 30 s without a change";

enum class State { kWell, kSick, kAbsent };
using enum State;

// The successive lists of a resource with device a, which changes, and device b, which does not.
struct Listing {
  Listing() { see(kWell, kStart); }

  // Applies the next list, and returns the listed state of device a: "well", its error, or "absent".
  std::string see(State state, Clock::time_point now) {
    std::vector<Device> devices;
    if (state != kAbsent)
      devices.push_back({.id = "a", .error = state == kSick ? std::string("too hot") : std::string()});
    devices.push_back({.id = "b"});
    damping.apply(last, devices, now, [this](const std::string& id) { return held && id == "a"; });
    last = devices;
    CHECK(last.back().healthy());
    if (state == kAbsent) return "absent";
    return last.front().healthy() ? "well" : last.front().error;
  }
  // Changes device a this many times after kStart, once per second. Returns the time of the last change.
  Clock::time_point change(int times, State other = kSick) {
    for (int i = 1; i <= times; ++i) see(i % 2 == 1 ? other : kWell, kStart + i * 1s);
    return kStart + times * 1s;
  }

  Damping damping;
  std::vector<Device> last;
  bool held = false;  // a pod holds device a
};

TEST_CASE("changes while a pod holds the device are not flapping, and changes before and after do count") {
  Listing listing;
  listing.held = true;
  const auto now = listing.change(20);
  CHECK(listing.last.front().healthy());
  CHECK(listing.damping.next_release() == Clock::time_point::max());
  listing.held = false;
  for (int i = 1; i <= 5; ++i) listing.see(i % 2 == 1 ? kSick : kWell, now + i * 1s);
  CHECK(listing.see(kWell, now + 6s) == kReason);
}

TEST_CASE(
    "changes while a pod holds the device do not count, and later changes are counted from the state after "
    "them") {
  Listing listing;
  auto now = listing.change(5);  // ends Unhealthy
  listing.held = true;
  CHECK(listing.see(kWell, now += 1s) == "well");
  listing.held = false;
  CHECK(listing.see(kWell, now += 1s) == "well");
  CHECK(listing.see(kSick, now += 1s) == "too hot");
  CHECK(listing.see(kWell, now += 1s) == kReason);
}

TEST_CASE("five changes within a minute are not flapping") {
  Listing listing;
  const auto now = listing.change(4);
  CHECK(listing.see(kSick, now + 1s) == "too hot");
  CHECK(listing.damping.next_release() == Clock::time_point::max());
  CHECK(listing.see(kWell, kStart + 61s) == "well");
}

TEST_CASE("a device that changes more often stays Unhealthy until it has not changed for 30 s") {
  Listing listing;
  const auto now = listing.change(6);
  CHECK(listing.last.front().error == kReason);
  CHECK(listing.damping.next_release() == now + 30s);
  CHECK(listing.see(kWell, now + 29s) == kReason);
  CHECK(listing.see(kWell, now + 30s) == "well");
  CHECK(listing.damping.next_release() == Clock::time_point::max());
  CHECK(listing.see(kSick, now + 31s) == "too hot");
  CHECK(listing.see(kWell, now + 32s) == "well");
}

TEST_CASE("six changes are flapping if less than a minute lies between the first and the last") {
  Listing listing;
  const auto change_each = [&](Clock::duration pause) {
    for (int i = 1; i <= 6; ++i) listing.see(i % 2 == 1 ? kSick : kWell, kStart + i * pause);
    return listing.last.front().error;
  };
  SUBCASE("11 s apart") { CHECK(change_each(11s) == kReason); }
  SUBCASE("a little less than 12 s apart") { CHECK(change_each(12s - 1ms) == kReason); }
  SUBCASE("12 s apart") { CHECK(change_each(12s).empty()); }
  SUBCASE("13 s apart") { CHECK(change_each(13s).empty()); }
}

TEST_CASE("each change of a flapping device restarts its waiting time") {
  Listing listing;
  const auto now = listing.change(6);
  CHECK(listing.see(kSick, now + 20s) == "too hot");
  CHECK(listing.see(kWell, now + 21s) == kReason);
  CHECK(listing.see(kWell, now + 30s) == kReason);
  CHECK(listing.damping.next_release() == now + 51s);
  CHECK(listing.see(kWell, now + 51s) == "well");
}

TEST_CASE("a flapping device that is Unhealthy for 30 s without a change is Healthy as soon as it recovers") {
  Listing listing;
  const auto now = listing.change(7);
  CHECK(listing.last.front().error == "too hot");
  CHECK(listing.see(kSick, now + 30s) == "too hot");
  CHECK(listing.see(kWell, now + 31s) == "well");
}

TEST_CASE("leaving the list and returning to it count as changes") {
  Listing listing;
  listing.change(6, kAbsent);
  CHECK(listing.last.front().error == kReason);
}

TEST_CASE("scans without a change do not count") {
  Listing listing;
  for (int i = 1; i <= 100; ++i) CHECK(listing.see(kWell, kStart + i * 100ms) == "well");
  for (int i = 1; i <= 100; ++i) CHECK(listing.see(kSick, kStart + 10s + i * 100ms) == "too hot");
  CHECK(listing.see(kWell, kStart + 21s) == "well");
}

TEST_CASE("new devices are Healthy at once") {
  Damping damping;
  std::vector<Device> devices{{.id = "a"}, {.id = "b", .error = "too hot"}};
  const auto before = devices;
  damping.apply({}, devices, kStart);
  CHECK(devices == before);
}

}  // namespace

TEST_CASE("a device that flapped in a predecessor is kept Unhealthy until it has been calm for long enough") {
  Listing former;
  const Clock::time_point last = former.change(6);
  const auto flapping = former.damping.flapping();
  REQUIRE(flapping.size() == 1);
  CHECK(flapping.at("a") == last);
  Damping next;
  next.inherit("a", last);
  const auto error_at = [&](Clock::time_point now) {
    std::vector<Device> devices{{.id = "a"}, {.id = "b"}};
    next.apply({}, devices, now);
    CHECK(devices[1].healthy());
    return devices[0].error;
  };
  CHECK(error_at(last + 1s) == kReason);
  CHECK(next.next_release() == last + Damping::kCalm);
  CHECK(error_at(last + Damping::kCalm - 1ms) == kReason);
  CHECK(error_at(last + Damping::kCalm).empty());
  CHECK(next.flapping().empty());
}

}  // namespace plughost
