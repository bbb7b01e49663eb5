#include "device/away.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = AwayDevices::Clock;
using enum AwayDevices::Held;

constexpr Clock::time_point kStart{1000h};
constexpr Clock::time_point kNever = Clock::time_point::max();

Device interface_of(const std::string& id, const std::string& mac = "02:00") {
  Device device;
  device.id = id;
  device.attributes = {{"mac", mac}};
  return device;
}

// One interface that a list has, and what is made of that list, again and again.
struct Listed {
  AwayDevices away;
  std::vector<Device> list{interface_of("eth1")};
  std::vector<Clock::time_point> asked;

  // "eth1~ eth2!": those that are away with a '~', those that are Unhealthy with a '!'.
  std::string see(std::vector<Device> scanned, Clock::time_point now, AwayDevices::Held held) {
    list = away.merge(list, {}, std::move(scanned), now, [&](const Device&, Clock::time_point since) {
      asked.push_back(since);
      return held;
    });
    return text();
  }
  std::string text() const {
    std::string text;
    for (const Device& device : list)
      text +=
          (text.empty() ? "" : " ") + device.id + (device.away ? "~" : "") + (device.healthy() ? "" : "!");
    return text;
  }
};

TEST_CASE("an interface that is missing and held is away: as it was, for as long as it is held") {
  Listed entry;
  CHECK(entry.see({}, kStart, kYes) == "eth1~");
  CHECK(entry.list.at(0).attributes == interface_of("eth1").attributes);
  CHECK(entry.away.next_change() == kNever);
  CHECK(entry.away.any());
  CHECK(entry.see({}, kStart + 24h, kYes) == "eth1~");
  CHECK(entry.see({interface_of("eth1", "04:00")}, kStart + 25h, kNo) == "eth1");
  CHECK(entry.list.at(0).attributes == interface_of("eth1", "04:00").attributes);
  CHECK_FALSE(entry.away.any());
}

TEST_CASE("an interface that is there is nobody's question") {
  Listed entry;
  CHECK(entry.see({interface_of("eth1")}, kStart, kYes) == "eth1");
  CHECK(entry.asked.empty());
}

TEST_CASE("an interface that nobody held is not there any more at once, and is asked of once") {
  Listed entry;
  CHECK(entry.see({}, kStart, kNo).empty());
  CHECK_FALSE(entry.away.any());
  CHECK(entry.asked == std::vector{kStart});
}

TEST_CASE("until it is known who holds it, an interface is as it was") {
  Listed entry;
  CHECK(entry.see({}, kStart, kNotKnownYet) == "eth1~");
  CHECK(entry.away.any());
  CHECK(entry.away.next_change() == kNever);
  CHECK(entry.see({}, kStart + 1s, kNotKnownYet) == "eth1~");
  // Since when it is missing stays the same.
  CHECK(entry.asked == std::vector{kStart, kStart});
  CHECK(entry.see({}, kStart + 2s, kNo).empty());
}

TEST_CASE("after its holder's end an interface is waited for, for five seconds and no longer") {
  Listed entry;
  entry.see({}, kStart, kYes);
  CHECK(entry.see({}, kStart + 60s, kNo) == "eth1~");
  CHECK(entry.away.next_change() == kStart + 65s);
  CHECK(entry.see({}, kStart + 65s - 1ms, kNo) == "eth1~");
  CHECK(entry.away.next_change() == kStart + 65s);
  CHECK(entry.see({}, kStart + 65s, kNo).empty());
  CHECK(entry.away.next_change() == kNever);
  CHECK_FALSE(entry.away.any());
}

TEST_CASE("who holds it again while it is waited for has it for as long as before") {
  Listed entry;
  entry.see({}, kStart, kYes);
  entry.see({}, kStart + 10s, kNo);
  CHECK(entry.see({}, kStart + 12s, kYes) == "eth1~");
  CHECK(entry.away.next_change() == kNever);
  CHECK(entry.see({}, kStart + 30s, kNo) == "eth1~");
  CHECK(entry.away.next_change() == kStart + 35s);
}

TEST_CASE("a device that is gone is not away, whoever holds it") {
  Listed entry;
  entry.list[0].gone = true;
  CHECK(entry.see({}, kStart, kYes).empty());
  CHECK(entry.asked.empty());
}

TEST_CASE("what another process has listed is away if it is held, and nothing otherwise") {
  AwayDevices away;
  const std::vector<Device> noted = {interface_of("eth1"), interface_of("eth2"), interface_of("eth3")};
  const auto list =
      away.merge({}, noted, {interface_of("eth3", "04:00")}, kStart,
                 [](const Device& device, Clock::time_point) { return device.id == "eth1" ? kYes : kNo; });
  REQUIRE(list.size() == 2);
  CHECK(list[0].attributes == interface_of("eth3", "04:00").attributes);
  CHECK_FALSE(list[0].away);
  CHECK(list[1].id == "eth1");
  CHECK(list[1].away);
}

TEST_CASE("what is in the list and noted, too, is there once, and what is over is asked of no more") {
  AwayDevices away;
  const std::vector<Device> one = {interface_of("eth1")};
  int asked = 0;
  const auto see = [&](AwayDevices::Held held) {
    return away.merge(one, one, {}, kStart, [&](const Device&, Clock::time_point) {
      ++asked;
      return held;
    });
  };
  CHECK(see(kYes).size() == 1);
  CHECK(asked == 1);
  AwayDevices other;
  std::swap(away, other);
  CHECK(see(kNo).empty());
  CHECK(see(kYes).empty());
  CHECK(asked == 2);
}

TEST_CASE("of several that are waited for the first one's end is the next change") {
  AwayDevices away;
  const std::vector<Device> both = {interface_of("eth1"), interface_of("eth2")};
  const auto see = [&](Clock::time_point now, const std::string& held) {
    away.merge(both, {}, {}, now, [&](const Device& device, Clock::time_point) {
      return held.find(device.id) == std::string::npos ? kNo : kYes;
    });
    return away.next_change();
  };
  CHECK(see(kStart, "eth1 eth2") == kNever);
  CHECK(see(kStart + 1s, "eth2") == kStart + 6s);
  CHECK(see(kStart + 3s, "") == kStart + 6s);
  CHECK(see(kStart + 6s, "") == kStart + 8s);
  CHECK(away.any());
}

TEST_CASE("a card whose interface is missing is as it was while it is held, and Unhealthy otherwise") {
  Listed entry;
  Device bare = interface_of("eth1", "");
  bare.away = true;
  CHECK(entry.see({bare}, kStart, kYes) == "eth1~");
  CHECK(entry.list.at(0).attributes == interface_of("eth1").attributes);
  entry.see({bare}, kStart + 60s, kNo);
  CHECK(entry.see({bare}, kStart + 65s, kNo) == "eth1!");
  CHECK(entry.list.at(0).trouble == "its network interface is not on the host");
  CHECK(entry.list.at(0).attributes == bare.attributes);
  CHECK(entry.see({bare}, kStart + 66s, kNo) == "eth1!");
  CHECK(entry.see({interface_of("eth1")}, kStart + 70s, kNo) == "eth1");
}

TEST_CASE("a new card without its interface is Unhealthy, and says what else is wrong with it") {
  Listed entry;
  Device bare = interface_of("eth2", "");
  bare.away = true;
  bare.trouble = "it is hot";
  CHECK(entry.see({interface_of("eth1"), bare}, kStart, kYes) == "eth1 eth2!");
  CHECK(entry.list.at(1).trouble == "its network interface is not on the host; and it is hot");
  CHECK_FALSE(entry.list.at(1).away);
}

}  // namespace
}  // namespace plughost
