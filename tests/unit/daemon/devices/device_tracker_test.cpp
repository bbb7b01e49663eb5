#include "daemon/devices/device_tracker.hpp"

#include <doctest/doctest.h>

#include "daemon/adoption/adoption_tracker.hpp"
#include "model/device/assembly.hpp"
#include "model/device/drain_set.hpp"
#include "unit/daemon/resource_names.hpp"

namespace plughost {
namespace {

using test::kA;
using test::kB;
using namespace std::chrono_literals;
using Clock = DeviceTracker::Clock;

constexpr Clock::time_point kStart{1000h};
constexpr Clock::time_point kNever = DeviceTracker::kNever;

std::vector<Device> devices(std::initializer_list<const char*> ids) {
  std::vector<Device> made;
  for (const char* id : ids) made.push_back({.id = id});
  return made;
}

// Returns the ids, with a mark for Unhealthy devices, such as "a b!".
std::string text_of(const Inventory& list) {
  std::string text;
  for (const Device& device : list.devices())
    text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : "!");
  return text;
}

Holdings held(const std::string& resource, std::initializer_list<const char*> ids) {
  HoldingsBuilder holdings;
  const auto pod = std::make_shared<const Holder>(Holder{"", "pod", "main"});
  for (const char* id : ids) holdings.add(resource, id, pod);
  return std::move(holdings).build();
}

// An entry that forgets devices one minute after they have gone.
struct Listed {
  DrainSet drains;
  AdoptedDevices adopted;
  DeviceTracker tracker{{&drains, &adopted}};
  DeviceTracker::Terms terms{.forget_after = 60s};

  std::vector<DeviceTracker::Listing> take(std::map<std::string, DeviceTracker::Seen> seen,
                                           Clock::time_point now) {
    return tracker.update(std::move(seen), now, terms);
  }
  // Returns the list of kA after a scan that found `ids`.
  std::string see(std::initializer_list<const char*> ids, Clock::time_point now) {
    std::map<std::string, DeviceTracker::Seen> seen;
    seen[kA].devices = devices(ids);
    take(std::move(seen), now);
    return text_of(tracker.listed(kA));
  }
  void record_holders(const Holdings& holdings, Clock::time_point asked) {
    tracker.record_holders(
        {.holdings = std::make_shared<const Holdings>(holdings), .complete = true, .asked = asked}, asked);
  }
};

TEST_CASE("a listing has a resource's present devices and those of its former list") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kB].devices = devices({"b", "a"});
  seen[kA].devices = devices({"c"});
  auto listings = entry.take(seen, kStart);
  REQUIRE(listings.size() == 2);
  CHECK(listings[0].resource == kA);
  CHECK(listings[1].resource == kB);
  CHECK(listings[1].before.empty());
  CHECK(text_of(listings[1].now) == "a b");
  seen[kB].devices = devices({"a", "b", "d"});
  listings = entry.take(seen, kStart + 1s);
  CHECK(text_of(listings[1].before) == "a b");
  CHECK(text_of(listings[1].now) == "a b d");
  CHECK(text_of(entry.tracker.listed(kB)) == "a b d");
  CHECK(entry.tracker.listed("x.com/other").empty());
  CHECK(entry.tracker.next_change() == kNever);
}

TEST_CASE("a scan with equal devices returns the former list object") {
  Listed entry;
  entry.see({"a", "b"}, kStart);
  const auto first = entry.tracker.listed(kA).devices();
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"b", "a"});
  const auto listings = entry.take(seen, kStart + 1s);
  CHECK(listings.at(0).now.devices().data() == first.data());
  CHECK(listings.at(0).before.devices().data() == first.data());
}

TEST_CASE("a listed resource that is not found stays listed, with its former devices") {
  Listed entry;
  entry.see({"a"}, kStart);
  const auto listings = entry.take({}, kStart + 1s);
  REQUIRE(listings.size() == 1);
  CHECK(text_of(listings[0].now) == "a!");
  entry.tracker.drop(kA);
  CHECK(entry.tracker.listed(kA).empty());
  CHECK(entry.take({}, kStart + 2s).empty());
}

TEST_CASE(
    "after an incomplete response about holders, a gone device stays, and its holders are queried again") {
  Listed entry;
  entry.see({"a"}, kStart);
  entry.see({}, kStart);
  entry.see({}, kStart + 60s);
  entry.tracker.record_holders(
      {.holdings = std::make_shared<const Holdings>(), .complete = false, .asked = kStart + 60s},
      kStart + 60s);
  CHECK(entry.see({}, kStart + 61s) == "a!");
  CHECK(entry.tracker.next_change() == kStart + 62s);
  entry.see({}, kStart + 62s);
  entry.record_holders({}, kStart + 62s);
  CHECK(entry.see({}, kStart + 62s).empty());
}

TEST_CASE("a new resource is listed when none of its devices waits for its first check") {
  Listed entry;
  CHECK_FALSE(entry.tracker.complete());
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA] = {.devices = devices({"a"}), .waits_until = kStart + 5s};
  seen[kB].devices = devices({"b"});
  auto listings = entry.take(seen, kStart);
  REQUIRE(listings.size() == 1);
  CHECK(listings[0].resource == kB);
  CHECK_FALSE(entry.tracker.complete());
  CHECK(entry.tracker.next_change() == kStart + 5s);
  seen[kA] = {.devices = devices({"a", "c"})};
  listings = entry.take(seen, kStart + 2s);
  REQUIRE(listings.size() == 2);
  CHECK(text_of(listings[0].now) == "a c");
  CHECK(entry.tracker.complete());
  CHECK(entry.tracker.next_change() == kNever);
  // A listed resource stays listed if a device waits for its first check.
  seen[kA] = {.devices = devices({"a", "c"}), .waits_until = kStart + 9s};
  CHECK(entry.take(seen, kStart + 3s).size() == 2);
  CHECK(entry.tracker.complete());
  CHECK(entry.tracker.next_change() == kStart + 9s);
}

TEST_CASE("a device that is gone is Unhealthy, and its holders are queried before it is forgotten") {
  Listed entry;
  CHECK(entry.see({"a", "b"}, kStart) == "a b");
  CHECK(entry.see({"b"}, kStart + 1s) == "a! b");
  CHECK(entry.tracker.next_change() == kStart + 61s);
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.see({"b"}, kStart + 61s) == "a! b");
  REQUIRE(entry.tracker.question());
  CHECK(*entry.tracker.question() == kStart + 61s);
  entry.tracker.begin_query();
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.see({"b"}, kStart + 62s) == "a! b");
  CHECK_FALSE(entry.tracker.question());
  entry.record_holders({}, kStart + 62s);
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.see({"b"}, kStart + 63s) == "b");
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.tracker.next_change() == kNever);
}

TEST_CASE("a response about holders does not count for a device that became due after the query") {
  Listed entry;
  entry.see({"a", "b"}, kStart);
  entry.see({"b"}, kStart);
  entry.see({}, kStart + 10s);
  entry.see({}, kStart + 60s);
  CHECK(*entry.tracker.question() == kStart + 60s);
  entry.tracker.begin_query();
  entry.record_holders({}, kStart + 60s);
  CHECK(entry.see({}, kStart + 70s) == "b!");
  CHECK(*entry.tracker.question() == kStart + 70s);
  entry.record_holders({}, kStart + 70s - 1ms);
  CHECK(entry.see({}, kStart + 71s) == "b!");
  CHECK(*entry.tracker.question() == kStart + 70s);
  entry.record_holders({}, kStart + 70s);
  CHECK(entry.see({}, kStart + 72s).empty());
}

TEST_CASE("one query is enough for all due devices") {
  Listed entry;
  entry.see({"a", "b"}, kStart);
  entry.see({"b"}, kStart);
  entry.see({}, kStart + 5s);
  CHECK(entry.see({}, kStart + 100s) == "a! b!");
  CHECK(*entry.tracker.question() == kStart + 65s);
}

TEST_CASE("a held device stays, and its holders are queried again after 2 s, 4 s and so on") {
  Listed entry;
  entry.see({"a", "b", "c"}, kStart);
  entry.see({"c"}, kStart);
  auto now = kStart + 60s;
  for (const auto pause : {2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    CHECK(entry.see({"c"}, now) == (now == kStart + 60s ? "a! b! c" : "a! c"));
    REQUIRE(entry.tracker.question());
    CHECK(*entry.tracker.question() == now);
    entry.record_holders(held(kA, {"a", "c"}), now);
    CHECK(entry.see({"c"}, now) == "a! c");
    CHECK(entry.tracker.next_change() == now + pause);
    CHECK(entry.see({"c"}, now + pause - 1ms) == "a! c");
    CHECK_FALSE(entry.tracker.question());
    now += pause;
  }
  CHECK(entry.see({"c"}, now) == "a! c");
  entry.record_holders(held(kA, {"c"}), now);
  CHECK(entry.see({"c"}, now) == "c");
  CHECK(entry.tracker.next_change() == kNever);
  // For the next device, the pauses begin again with the shortest.
  entry.see({}, now);
  now += 60s;
  entry.see({}, now);
  entry.record_holders(held(kA, {"c"}), now);
  entry.see({}, now);
  CHECK(entry.tracker.next_change() == now + 2s);
}

TEST_CASE(
    "if the holders are unknown, a device that was held stays listed, and others are forgotten after their "
    "time") {
  Listed entry;
  entry.see({"held", "free"}, kStart);
  entry.see({"free"}, kStart);
  entry.see({"free"}, kStart + 60s);
  entry.record_holders(held(kA, {"held"}), kStart + 60s);
  CHECK(entry.see({}, kStart + 61s) == "free! held!");
  entry.see({}, kStart + 62s);
  REQUIRE(entry.tracker.question());
  entry.tracker.record_holders({.asked = kStart + 62s}, kStart + 62s);
  CHECK(entry.see({}, kStart + 63s) == "free! held!");
  CHECK(entry.tracker.next_change() == kStart + 66s);
  entry.see({}, kStart + 121s);
  entry.tracker.record_holders({.asked = kStart + 121s}, kStart + 121s);
  CHECK(entry.see({}, kStart + 122s) == "held!");
  entry.record_holders({}, kStart + 130s);
  CHECK(entry.see({}, kStart + 130s).empty());
}

TEST_CASE("a pod that holds one share holds the device, and a pod of another resource does not") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = {{.id = "gpu", .replicas = 4}, {.id = "other", .replicas = 4}};
  entry.take(seen, kStart);
  entry.take({}, kStart);
  entry.take({}, kStart + 60s);
  Holdings holdings = held(kA, {"gpu::3"});
  holdings.merge(held(kB, {"other::0"}));
  entry.record_holders(holdings, kStart + 60s);
  entry.take({}, kStart + 60s);
  CHECK(text_of(entry.tracker.listed(kA)) == "gpu!");
}

TEST_CASE(
    "a device that is away is Healthy while a pod holds it, because it is in that pod's network namespace") {
  Listed entry;
  std::set<std::string> held;
  entry.terms.held = [&](const std::string& resource, const std::string& id) {
    return resource == kA && held.contains(id);
  };
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = {{.id = "a", .error = "another namespace has it", .away = true},
                      {.id = "b", .error = "no driver"}};
  const auto now = [&] {
    entry.take(seen, kStart);
    return text_of(entry.tracker.listed(kA));
  };
  CHECK(now() == "a! b!");
  held = {"a", "b"};
  CHECK(now() == "a b!");
  held = {};
  CHECK(now() == "a! b!");
}

TEST_CASE(
    "a flapping device is kept Unhealthy, and the list changes when it has been stable for long enough") {
  Listed entry;
  entry.see({"a"}, kStart);
  for (int i = 1; i <= 6; ++i)
    i % 2 == 1 ? entry.see({}, kStart + i * 1s) : entry.see({"a"}, kStart + i * 1s);
  CHECK(text_of(entry.tracker.listed(kA)) == "a!");
  CHECK(entry.tracker.next_change() == kStart + 6s + Damping::kCalm);
  CHECK(entry.see({"a"}, kStart + 36s) == "a");
  CHECK(entry.tracker.next_change() == kNever);
}

TEST_CASE("a device that flapped in a predecessor is kept Unhealthy from the first list on") {
  Listed former;
  for (int i = 0; i <= 6; ++i)
    i % 2 == 1 ? former.see({}, kStart + i * 1s) : former.see({"a"}, kStart + i * 1s);
  REQUIRE(former.tracker.flapping() == DeviceTracker::Flapping{{kA, {{"a", kStart + 6s}}}});
  Listed next;
  next.tracker.inherit(former.tracker.flapping());
  CHECK(next.see({"a", "b"}, kStart + 7s) == "a! b");
  CHECK(next.tracker.next_change() == kStart + 6s + Damping::kCalm);
  CHECK(next.see({"a", "b"}, kStart + 36s) == "a b");
}

TEST_CASE("a flapping device that a pod holds is kept Unhealthy if it has shares, and not if it has none") {
  for (const unsigned replicas : {1U, 4U}) {
    CAPTURE(replicas);
    Listed entry;
    entry.terms.held = [](const std::string&, const std::string&) { return true; };
    for (int n = 0; n < 20; ++n) {
      std::map<std::string, DeviceTracker::Seen> seen;
      seen[kA].devices = {{.id = "a", .error = n % 2 == 1 ? "bad" : "", .replicas = replicas}};
      entry.take(std::move(seen), kStart + n * 1s);
    }
    std::map<std::string, DeviceTracker::Seen> well;
    well[kA].devices = {{.id = "a", .replicas = replicas}};
    entry.take(std::move(well), kStart + 20s);
    CHECK(text_of(entry.tracker.listed(kA)) == (replicas == 1 ? "a" : "a!"));
  }
}

TEST_CASE(
    "a resource that is named after its devices is removed with the last device if none was ever held") {
  Listed entry;
  entry.terms.named_after_devices = true;
  entry.see({"a", "b"}, kStart);
  CHECK(entry.see({"b"}, kStart + 1s) == "a! b");  // the device that is left keeps the resource and its state
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.see({}, kStart + 2s) == "a! b!");
  REQUIRE(entry.tracker.question());
  CHECK(*entry.tracker.question() == kStart + 2s);
  SUBCASE("the kubelet answers that no pod holds a device") {
    entry.record_holders({}, kStart + 2s);
    CHECK(entry.see({}, kStart + 3s).empty());
  }
  SUBCASE("a pod holds a device, so each device is forgotten after its usual time") {
    entry.record_holders(held(kA, {"b"}), kStart + 2s);
    CHECK(entry.see({}, kStart + 3s) == "a! b!");
    entry.see({}, kStart + 61s);
    entry.record_holders({}, kStart + 61s);
    CHECK(entry.see({}, kStart + 61s) == "b!");
    entry.see({}, kStart + 62s);
    entry.record_holders({}, kStart + 62s);
    CHECK(entry.see({}, kStart + 62s).empty());
  }
  SUBCASE("a container has received a device before, so the devices stay listed") {
    entry.tracker.record_held(kA);
    entry.see({}, kStart + 3s);
    entry.record_holders({}, kStart + 3s);
    CHECK(entry.see({}, kStart + 60s) == "a! b!");
  }
  SUBCASE("the kubelet does not answer, so the devices are forgotten after their usual time") {
    entry.tracker.record_holders({.asked = kStart + 2s}, kStart + 2s);
    CHECK(entry.see({}, kStart + 3s) == "a! b!");
    CHECK_FALSE(entry.tracker.question());
    CHECK(entry.tracker.next_change() == kStart + 61s);
    CHECK(entry.see({}, kStart + 62s - 1ms) == "a! b!");
    CHECK(*entry.tracker.question() == kStart + 61s);
    entry.see({}, kStart + 62s);
    CHECK(*entry.tracker.question() == kStart + 62s);
    entry.tracker.record_holders({.asked = kStart + 62s}, kStart + 62s);
    CHECK(entry.see({}, kStart + 62s).empty());
  }
}

TEST_CASE("a resource with a fixed name keeps a gone device for the usual time") {
  Listed entry;
  entry.see({"a"}, kStart);
  CHECK(entry.see({}, kStart + 1s) == "a!");
  CHECK_FALSE(entry.tracker.question());
  CHECK(entry.tracker.next_change() == kStart + 61s);
}

TEST_CASE("a device is Unhealthy while it is drained, even if it goes and returns in the meantime") {
  Listed entry;
  entry.drains.set({kA, "a"}, {.reason = "the fan", .since = {}});
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"a", "b"});
  auto listings = entry.take(seen, kStart);
  CHECK(text_of(listings.at(0).now) == "a! b");
  CHECK(entry.tracker.listed(kA).find("a")->reason() == "drained: the fan");
  // The device goes and returns.
  seen[kA].devices = devices({"b"});
  entry.take(seen, kStart + 1s);
  CHECK(entry.tracker.listed(kA).find("a")->reason() ==
        "drained: the fan; and by itself: it is gone: unplugged, removed, or left out by its entry");
  seen[kA].devices = devices({"a", "b"});
  entry.take(seen, kStart + 2s);
  CHECK(entry.tracker.listed(kA).find("a")->reason() == "drained: the fan");
  entry.drains = {};
  listings = entry.tracker.reapply_overlays();
  REQUIRE(listings.size() == 1);
  CHECK(text_of(listings[0].before) == "a! b");
  CHECK(text_of(listings[0].now) == "a b");
  CHECK(text_of(entry.tracker.listed(kA)) == "a b");
}

TEST_CASE("a drain changes only the list that contains the drained device") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"a"});
  seen[kB].devices = devices({"a", "b"});
  entry.take(seen, kStart);
  const auto untouched = entry.tracker.listed(kA).devices();
  CHECK(entry.tracker.reapply_overlays().empty());
  entry.drains.set({kB, "b"}, {.reason = "", .since = {}});
  entry.drains.set({kA, "unknown"}, {.reason = "", .since = {}});
  const auto listings = entry.tracker.reapply_overlays();
  REQUIRE(listings.size() == 1);
  CHECK(listings[0].resource == kB);
  CHECK(text_of(listings[0].now) == "a b!");
  CHECK(entry.tracker.listed(kA).devices().data() == untouched.data());
  CHECK(entry.tracker.reapply_overlays().empty());
}

TEST_CASE("a device that is drained and undrained repeatedly does not flap") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"a"});
  DrainSet drains;
  drains.set({kA, "a"}, {.reason = "", .since = {}});
  for (int i = 0; i < 10; ++i) {
    entry.drains = i % 2 == 0 ? drains : DrainSet();
    entry.take(seen, kStart + std::chrono::seconds(i));
  }
  CHECK(text_of(entry.tracker.listed(kA)) == "a");
  // The device's own changes count as usual: five are allowed.
  for (std::size_t i = 0; i < Damping::kMostChanges; ++i) {
    seen[kA].devices[0].error = i % 2 == 0 ? "sick" : "";
    entry.take(seen, kStart + 10s + std::chrono::seconds(i));
  }
  CHECK(entry.tracker.next_change() == kNever);
  seen[kA].devices[0].error = "";
  entry.take(seen, kStart + 20s);
  CHECK(entry.tracker.next_change() == kStart + 20s + Damping::kCalm);
}

AdoptedDevices adopted(const std::string& resource, const std::string& device) {
  Adoption adoption;
  adoption.devices[device] = {{.id = "X", .pod_uid = "uid", .container = "main"}};
  AdoptedDevices made;
  made.merge({{resource, adoption}});
  return made;
}

TEST_CASE("an adopted device is Unhealthy from the first list until it is released") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"a", "b"});
  seen[kB].devices = devices({"a"});
  entry.adopted = adopted(kA, "a");
  const auto listings = entry.take(seen, kStart);
  CHECK(listings.at(0).before.empty());
  CHECK(text_of(listings.at(0).now) == "a! b");
  CHECK(text_of(listings.at(1).now) == "a");
  CHECK(entry.tracker.reapply_overlays().empty());
  entry.adopted = {};
  const auto free = entry.tracker.reapply_overlays();
  REQUIRE(free.size() == 1);
  CHECK(text_of(free[0].now) == "a b");
  entry.adopted = adopted(kA, "b");
  const auto again = entry.tracker.reapply_overlays();
  REQUIRE(again.size() == 1);
  CHECK(text_of(again[0].now) == "a b!");
}

TEST_CASE("a device may be drained and adopted, and each makes it Unhealthy") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  seen[kA].devices = devices({"a"});
  DrainSet drains;
  drains.set({kA, "a"}, {.reason = "", .since = {}});
  entry.drains = drains;
  entry.adopted = adopted(kA, "a");
  entry.take(seen, kStart);
  CHECK(entry.tracker.listed(kA).find("a")->reason() ==
        "drained; and held by uid since before plughost, as X");
  entry.drains = {};
  entry.tracker.reapply_overlays();
  CHECK(entry.tracker.listed(kA).find("a")->reason() == "held by uid since before plughost, as X");
  entry.drains = drains;
  entry.adopted = {};
  entry.tracker.reapply_overlays();
  CHECK(entry.tracker.listed(kA).find("a")->reason() == "drained");
}

TEST_CASE("an entry has at most a thousand resources, including remembered ones") {
  Listed entry;
  std::map<std::string, DeviceTracker::Seen> seen;
  for (std::size_t i = 0; i < kMostResources; ++i)
    seen["x.com/" + std::to_string(i)].devices = {{.id = std::to_string(i)}};
  CHECK(entry.take(seen, kStart).size() == kMostResources);
  CHECK_FALSE(entry.tracker.crowded());
  seen.erase("x.com/0");
  seen["x.com/new"].devices = devices({"new"});
  CHECK(entry.take(seen, kStart + 1s).size() == kMostResources);
  CHECK(entry.tracker.crowded());
  CHECK(entry.tracker.listed("x.com/new").empty());
  entry.tracker.drop("x.com/0");
  entry.take(seen, kStart + 2s);
  CHECK_FALSE(entry.tracker.crowded());
  CHECK(text_of(entry.tracker.listed("x.com/new")) == "new");
}

}  // namespace
}  // namespace plughost
