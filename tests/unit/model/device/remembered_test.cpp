#include "model/device/history.hpp"

#include <doctest/doctest.h>

#include "model/device/inventory.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Remembered::Clock;

constexpr Clock::time_point kStart{1000h};

std::vector<Device> devices(std::initializer_list<const char*> ids) {
  std::vector<Device> made;
  for (const char* id : ids) made.emplace_back().id = id;
  return made;
}

// The successive lists of a resource.
struct FlappingDevice {
  std::vector<Device> merge(std::vector<Device> scanned, Clock::time_point now,
                            std::chrono::seconds forget_after) {
    last = remembered.merge(last, std::move(scanned), now, forget_after);
    return last;
  }
  Clock::time_point next_forgetting() const { return remembered.next_forgetting(); }

  Remembered remembered;
  std::vector<Device> last;
};

// Returns the ids in order, with "!" after each Unhealthy one, as in "a b! c".
std::string summary(const std::vector<Device>& list) {
  std::string text;
  for (const Device& device : list)
    text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : "!");
  return text;
}

TEST_CASE("a device that vanished stays Unhealthy until it is forgotten") {
  FlappingDevice remembered;
  CHECK(summary(remembered.merge(devices({"a", "b", "c"}), kStart, 60s)) == "a b c");
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
  const auto merged = remembered.merge(devices({"a", "c"}), kStart + 10s, 60s);
  CHECK(summary(merged) == "a b! c");
  CHECK(merged[1].error == "it is gone: unplugged, removed, or left out by its entry");
  CHECK(remembered.next_forgetting() == kStart + 70s);
  CHECK(summary(remembered.merge(devices({"a", "c"}), kStart + 69s, 60s)) == "a b! c");
  CHECK(summary(remembered.merge(devices({"a", "c"}), kStart + 70s, 60s)) == "a c");
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
}

TEST_CASE("a device that returns before it is forgotten is Healthy and unchanged") {
  FlappingDevice remembered;
  const auto before = remembered.merge(devices({"a", "b"}), kStart, 60s);
  remembered.merge(devices({"a"}), kStart, 60s);
  CHECK(remembered.merge(devices({"a", "b"}), kStart + 5s, 60s) == before);
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
  CHECK(summary(remembered.merge(devices({}), kStart + 30s, 60s)) == "a! b!");
  CHECK(remembered.next_forgetting() == kStart + 90s);
}

TEST_CASE("devices are forgotten one by one") {
  FlappingDevice remembered;
  remembered.merge(devices({"a", "b", "c"}), kStart, 60s);
  remembered.merge(devices({"b", "c"}), kStart + 1s, 60s);
  CHECK(summary(remembered.merge(devices({"b"}), kStart + 2s, 60s)) == "a! b c!");
  CHECK(remembered.next_forgetting() == kStart + 61s);
  CHECK(summary(remembered.merge(devices({"b"}), kStart + 61s, 60s)) == "b c!");
  CHECK(remembered.next_forgetting() == kStart + 62s);
}

TEST_CASE("nothing is remembered if devices are forgotten at once") {
  FlappingDevice remembered;
  remembered.merge(devices({"a", "b"}), kStart, 0s);
  CHECK(summary(remembered.merge(devices({"b"}), kStart, 0s)) == "b");
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
}

TEST_CASE("with the largest possible time devices are never forgotten") {
  FlappingDevice remembered;
  remembered.merge(devices({"a"}), kStart, std::chrono::seconds::max());
  CHECK(summary(remembered.merge(devices({}), kStart + 10000h, std::chrono::seconds::max())) == "a!");
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
}

TEST_CASE("a present device keeps its own error") {
  FlappingDevice remembered;
  auto sick = devices({"a", "b"});
  sick[0].error = "too hot";
  CHECK(remembered.merge(sick, kStart, 60s) == sick);
  CHECK(summary(remembered.merge(devices({"a", "b"}), kStart, 60s)) == "a b");
}

TEST_CASE("the result is sorted whatever the scan's order") {
  FlappingDevice remembered;
  remembered.merge(devices({"d", "a"}), kStart, 60s);
  CHECK(summary(remembered.merge(devices({"z", "b"}), kStart, 60s)) == "a! b d! z");
}

TEST_CASE("a device that is due to be forgotten stays while the callback requires it") {
  Remembered remembered;
  std::vector<std::string> asked;
  bool held = true;
  const auto merge = [&](const std::vector<Device>& before, Clock::time_point now) {
    asked.clear();
    return remembered.merge(before, devices({"c"}), now, 60s,
                            [&](const Device& device, Clock::time_point due) {
                              asked.push_back(device.id);
                              CHECK(due == kStart + 60s);
                              return held && device.id == "a";
                            });
  };
  auto list = merge(devices({"a", "b", "c"}), kStart);
  CHECK(asked.empty());
  list = merge(list, kStart + 60s);
  CHECK(asked == std::vector<std::string>{"a", "b"});
  CHECK(summary(list) == "a! c");
  CHECK(remembered.next_forgetting() == Clock::time_point::max());
  list = merge(list, kStart + 1000s);
  CHECK(summary(list) == "a! c");
  held = false;
  CHECK(summary(merge(list, kStart + 1001s)) == "c");
}

TEST_CASE("devices that are gone never make the list too long for present ones") {
  const auto many = [](char first) {
    std::vector<Device> made(40'000);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].id = first + std::string(56, 'x') + std::to_string(100'000 + i);
    }
    return made;
  };
  FlappingDevice remembered;
  remembered.merge(many('a'), kStart, 60s);
  const auto merged = remembered.merge(many('b'), kStart, 60s);
  std::size_t bytes = 0;
  std::size_t healthy = 0;
  for (const Device& device : merged) {
    bytes += wire_size(device);
    healthy += device.healthy();
  }
  CHECK(bytes <= kListLimit);
  CHECK(bytes > kListLimit - 100);
  CHECK(healthy == 40'000);
}

}  // namespace
}  // namespace plughost
