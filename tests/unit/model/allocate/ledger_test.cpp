#include "model/allocate/ledger.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Ledger::Clock;
using Ids = std::vector<std::string>;

constexpr Clock::time_point kStart{1000h};
const std::string kNic = "x.com/nic";  // a second resource, x.com/vfio, lists the same functions
const std::string kVfio = "x.com/vfio";
const std::string kCard = "/sys/devices/pci0000:00/0000:00:02.0";
const std::string kOther = "/sys/devices/pci0000:00/0000:00:03.0";

Device device_of(std::string id, std::vector<std::string> units) {
  Device made{.id = std::move(id)};
  made.hardware.edit().units = std::move(units);
  return made;
}

struct Rig {
  Ledger ledger;
  std::map<std::string, std::vector<Device>> lists;

  void list(const std::string& resource, std::vector<Device> devices, Clock::time_point now = kStart) {
    ledger.list(resource, devices, now);
    std::ranges::sort(devices, {}, &Device::id);
    lists[resource] = std::move(devices);
  }
  std::string give(const std::string& resource, const Ids& ids, Clock::time_point now = kStart) {
    return ledger.give(resource, ids, now);
  }
  // Returns why the ledger makes the device Unhealthy; empty: it does not.
  std::string why(const std::string& resource, const std::string& id) const {
    std::vector<Device> devices = lists.at(resource);
    ledger.apply(resource, devices);
    for (const Device& each : devices) {
      if (each.id != id) continue;
      CHECK(each.healthy() == each.reason().empty());
      CHECK(ledger.touches(resource) >= !each.healthy());
      return each.reason();
    }
    return "not listed";
  }
  void update_holds(std::initializer_list<std::pair<const Ledger::Name, std::string>> holds,
                    Clock::time_point asked) {
    ledger.update_holds(holds, asked, asked);
  }
};

}  // namespace

TEST_CASE(
    "ledger: hardware that two resources list is blocked in the other resource while one of its devices is "
    "held") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard}), device_of("b", {kOther})});
  rig.list(kVfio, {device_of("0000:00:02.0", {kCard})});
  CHECK_FALSE(rig.ledger.open());
  const auto before = rig.ledger.version();
  CHECK(rig.give(kNic, {"a"}).empty());
  CHECK(rig.ledger.version() != before);
  CHECK(rig.ledger.held({kNic, "a"}));
  CHECK(rig.why(kVfio, "0000:00:02.0") == "held by a container that has just got it as x.com/nic a");
  CHECK(rig.why(kNic, "a").empty());
  CHECK(rig.why(kNic, "b").empty());
  CHECK(rig.give(kVfio, {"0000:00:02.0"}) ==
        "0000:00:02.0: held by a container that has just got it as x.com/nic a");
  CHECK(rig.ledger.open());

  rig.update_holds({{{kNic, "a"}, "default/train"}}, kStart + 6s);
  CHECK(rig.why(kVfio, "0000:00:02.0") == "held by default/train as x.com/nic a");
  rig.update_holds({}, kStart + 7s);
  CHECK(rig.why(kVfio, "0000:00:02.0").empty());
  CHECK_FALSE(rig.ledger.held({kNic, "a"}));
  CHECK_FALSE(rig.ledger.open());
  CHECK(rig.give(kVfio, {"0000:00:02.0"}, kStart + 8s).empty());
  CHECK(rig.why(kNic, "a") == "held by a container that has just got it as x.com/vfio 0000:00:02.0");
}

TEST_CASE(
    "ledger: a held unit blocks the units above and below it in the device tree, and not those beside it") {
  Rig rig;
  rig.list(kNic, {device_of("stick", {kCard + "/usb1/1-2"}),
                  device_of("tty", {kCard + "/usb1/1-2/1-2:1.0/tty/ttyS0"}),
                  device_of("twin", {kCard + "/usb1/1-2.1"}), device_of("late", {kCard + "/usb1/1-20"})});
  rig.list(kVfio, {device_of("host", {kCard})});
  const auto blocked = [&] {
    std::string all;
    for (const char* id : {"stick", "tty", "twin", "late"}) all += rig.why(kNic, id).empty() ? "-" : "x";
    return all + (rig.why(kVfio, "host").empty() ? "-" : "x");
  };
  CHECK(rig.give(kNic, {"tty"}).empty());
  CHECK(blocked() == "x---x");
  rig.update_holds({{{kNic, "stick"}, "p"}}, kStart + 1min);
  CHECK(blocked() == "-x--x");
  rig.update_holds({{{kVfio, "host"}, "p"}}, kStart + 2min);
  CHECK(blocked() == "xxxx-");
}

TEST_CASE(
    "ledger: a device is blocked already in its first list, and a held device blocks others although it is "
    "not listed") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.give(kNic, {"a"});
  rig.ledger.keep(kNic);
  rig.list(kNic, {});
  rig.list(kVfio, {device_of("v", {kCard})});
  CHECK(rig.why(kVfio, "v") == "held by a container that has just got it as x.com/nic a");
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart + 1min);
  CHECK(rig.why(kVfio, "v") == "held by p as x.com/nic a");
  rig.update_holds({}, kStart + 2min);
  CHECK(rig.why(kVfio, "v").empty());
}

TEST_CASE(
    "ledger: a held device that was removed blocks nothing, and after its return it blocks only its new "
    "place") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("v", {kCard}), device_of("w", {kOther})});
  rig.give(kNic, {"a"});
  rig.list(kNic, {});
  CHECK(rig.why(kVfio, "v").empty());
  rig.ledger.keep(kNic);
  rig.list(kNic, {device_of("a", {kOther})});
  CHECK(rig.why(kVfio, "v").empty());
  CHECK_FALSE(rig.why(kVfio, "w").empty());
  rig.ledger.keep(kNic);
  rig.list(kNic, {});
  CHECK_FALSE(rig.why(kVfio, "w").empty());
  rig.list(kNic, {device_of("a", {kCard})});
  CHECK(rig.why(kVfio, "w").empty());
}

TEST_CASE(
    "ledger: hardware that a container was given stays blocked when its id now names different hardware") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard}), device_of("b", {kOther})});
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart);
  rig.ledger.lead(kNic, {{"a", {kOther}}, {"b", {kCard}}}, kStart);
  CHECK(rig.why(kNic, "a").empty());
  CHECK(rig.why(kNic, "b") == "held by p as x.com/nic a");
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart + 10s);
  CHECK_FALSE(rig.why(kNic, "b").empty());
  rig.ledger.lead(kNic, {}, kStart);
  CHECK(rig.why(kNic, "b").empty());
}

TEST_CASE("ledger: when a link changes, the old target stays blocked for the container that was given it") {
  Rig rig;
  rig.list(kNic, {device_of("by-id", {kCard})});
  rig.list(kVfio, {device_of("v", {kCard}), device_of("w", {kOther})});
  rig.give(kNic, {"by-id"});
  rig.list(kNic, {device_of("by-id", {kOther})});
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  CHECK_FALSE(rig.why(kVfio, "w").empty());
  rig.list(kNic, {device_of("by-id", {kOther})});
  CHECK(rig.why(kVfio, "v").empty() == false);
  rig.update_holds({}, kStart + 10s);
  CHECK(rig.why(kVfio, "v").empty());
  rig.list(kNic, {device_of("by-id", {kCard})});
  CHECK(rig.why(kVfio, "w").empty());
}

TEST_CASE(
    "ledger: a query of the kubelet that began before an Allocate, or soon after it, does not release the "
    "device") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("v", {kCard})});
  rig.give(kNic, {"a"}, kStart + 1s);
  rig.update_holds({}, kStart);
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  rig.update_holds({}, kStart + 1s + Ledger::kUntold - 1ms);
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  rig.update_holds({}, kStart + 1s + Ledger::kUntold);
  CHECK(rig.why(kVfio, "v").empty());
  // A query that failed releases nothing.
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart + 10s);
  rig.update_holds({}, Clock::time_point::min());
  CHECK(rig.why(kVfio, "v") == "held by p as x.com/nic a");
}

TEST_CASE("ledger: when a device loses its replicas, a replica that was given blocks the hardware at once") {
  Rig rig;
  rig.list(kNic, {device_of("a", {})});  // with replicas: devices with replicas have no hardware of their own
  rig.list(kVfio, {device_of("v", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  CHECK(rig.give(kNic, {"a"}, kStart + 1s).empty());
  CHECK(rig.why(kVfio, "v").empty());
  rig.ledger.keep(kNic);
  rig.list(kNic, {device_of("a", {kCard})});
  CHECK(rig.why(kVfio, "v") == "held by a container that has just got it as x.com/nic a");
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart + 10s);
  CHECK(rig.why(kVfio, "v") == "held by p as x.com/nic a");
}

TEST_CASE("ledger: when a device gets replicas, its former only holder keeps the hardware") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("v", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  rig.ledger.keep(kNic);
  rig.list(kNic, {device_of("a", {})});
  CHECK(rig.give(kNic, {"a"}, kStart + 1s).empty());
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  rig.update_holds({}, kStart + 1s + Ledger::kUntold - 1ms);  // a replica was given too recently
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  rig.update_holds({}, kStart + 1s + Ledger::kUntold);
  CHECK(rig.why(kVfio, "v").empty());
}

TEST_CASE("ledger: an IOMMU group belongs to one container at a time") {
  const std::string group = std::string(kIommuGroup) + "12";
  Rig rig;
  rig.list(kVfio, {device_of("0", {kCard + "/0", group}), device_of("1", {kCard + "/1", group}),
                   device_of("2", {kCard + "/2", std::string(kIommuGroup) + "1"})});
  CHECK(rig.give(kVfio, {"0"}).empty());
  CHECK(rig.why(kVfio, "1") ==
        "its IOMMU group 12 is held by a container that has just got it with x.com/vfio 0: one container can "
        "use "
        "it at a time");
  CHECK(rig.why(kVfio, "2").empty());
  rig.update_holds({}, kStart + 1min);

  SUBCASE("and its devices can be given together in one request") {
    CHECK(rig.give(kVfio, {"0", "1"}, kStart + 1min).empty());
    CHECK(rig.why(kVfio, "0").empty());
    CHECK(rig.why(kVfio, "1").empty());
  }
  SUBCASE("and one by one through different resources while a container is admitted") {
    rig.list(kNic, {device_of("audio", {kOther, group})}, kStart + 1min);
    CHECK(rig.give(kVfio, {"0"}, kStart + 1min).empty());
    CHECK_FALSE(rig.why(kVfio, "1").empty());
    CHECK(rig.why(kNic, "audio").empty());
    SUBCASE("within the time for one container") {
      CHECK(rig.give(kNic, {"audio"}, kStart + 1min + Ledger::kSameContainer).empty());
      CHECK(rig.why(kNic, "audio").empty());
    }
    SUBCASE("until that time is over") {
      rig.ledger.refresh(kStart + 1min + Ledger::kSameContainer);
      CHECK(rig.why(kNic, "audio").empty());
      rig.ledger.refresh(kStart + 1min + Ledger::kSameContainer + 1ms);
      CHECK_FALSE(rig.why(kNic, "audio").empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min + Ledger::kSameContainer + 1ms).empty());
    }
    SUBCASE("until the same resource is requested a second time") {
      CHECK(rig.give(kVfio, {"2"}, kStart + 1min).empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min).empty());
    }
    SUBCASE("until the same replica is requested a second time") {
      CHECK(rig.give("x.com/shared", {"s"}, kStart + 1min).empty());
      CHECK(rig.why(kNic, "audio").empty());
      CHECK(rig.give("x.com/shared", {"s"}, kStart + 1min).empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min).empty());
    }
  }
}

TEST_CASE("ledger: of two reported holders one may have ended, and does not block the other's device") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("1", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  rig.update_holds({{{kNic, "a"}, "default/nic"}, {{kVfio, "1"}, "default/vm"}},
                   kStart + 10s);  // two pods hold the same hardware
  CHECK(rig.ledger.open());        // one of the two pods may have ended
  rig.update_holds({{{kNic, "a"}, "default/vm"}, {{kVfio, "1"}, "default/vm"}}, kStart + 11s);
  CHECK_FALSE(rig.ledger.open());  // one pod holds both devices
  rig.update_holds({{{kNic, "a"}, "default/nic"}, {{kVfio, "1"}, "default/vm"}}, kStart + 12s);
  CHECK(rig.give(kNic, {"a"}, kStart + 20s) == "a: held by default/vm as x.com/vfio 1");
  CHECK(rig.why(kNic, "a").empty());  // stays available until the next report of the kubelet
  rig.update_holds({{{kVfio, "1"}, "default/vm"}}, kStart + 30s);
  CHECK(rig.why(kNic, "a") == "held by default/vm as x.com/vfio 1");
  rig.update_holds({}, kStart + 40s);
  CHECK_FALSE(rig.ledger.open());
}

TEST_CASE("ledger: a device that is already reported as held gets no second reason") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("1", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  std::vector<Device> devices = rig.lists.at(kVfio);
  devices[0].reasons = {Reason::drain("drained"), Reason::holder("held since before", {0})};
  rig.ledger.apply(kVfio, devices);
  CHECK(devices[0].reasons.size() == 2);
}

TEST_CASE("ledger: a refused request holds nothing") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard}), device_of("b", {kOther})});
  rig.list(kVfio, {device_of("v", {kCard})});
  rig.give(kNic, {"a"});
  CHECK_FALSE(rig.give(kVfio, {"other", "v"}).empty());
  CHECK_FALSE(rig.ledger.held({kVfio, "other"}));
  CHECK_FALSE(rig.ledger.held({kVfio, "v"}));
}

TEST_CASE("ledger: observers of given hardware are notified") {
  int gives = 0;
  Ledger ledger([&gives] { ++gives; });
  const std::vector<Device> one{device_of("a", {kCard})};
  const std::vector<Device> other{device_of("v", {kCard})};
  ledger.list(kNic, one, kStart);
  ledger.list(kVfio, other, kStart);
  const Ids a{"a"};
  const Ids v{"v"};
  ledger.give(kNic, a, kStart);
  ledger.give(kVfio, v, kStart);
  CHECK(gives == 1);
}

TEST_CASE("ledger: a successor knows what its predecessor has given, whether it is reported or not") {
  Rig former;
  for (Rig* const rig : {&former}) {
    rig->list(kNic, {device_of("a", {kCard}), device_of("b", {kOther})});
    rig->list(kVfio, {device_of("v", {kCard}), device_of("w", {kOther})});
  }
  former.update_holds({{{kNic, "a"}, "default/train"}}, kStart);
  CHECK(former.give(kNic, {"b"}, kStart + 10s).empty());
  const auto holds = former.ledger.holds(kStart + 12s);
  CHECK(holds == std::vector<Ledger::Hold>{{.name = {kNic, "a"}, .who = "default/train"},
                                           {.name = {kNic, "b"}, .who = "", .age = 2s}});
  int told = 0;
  Ledger next([&] { ++told; }, false);
  CHECK_FALSE(next.complete());
  next.list(kNic, former.lists[kNic], kStart);
  CHECK_FALSE(next.undecided(kNic, std::vector<std::string>{"a", "b"}));  // no other resource has them
  next.list(kVfio, {former.lists[kVfio].data(), 1}, kStart);
  CHECK(next.undecided(kNic, std::vector<std::string>{"b", "a"}));
  CHECK(next.undecided(kVfio, std::vector<std::string>{"v"}));
  CHECK_FALSE(next.undecided(kNic, std::vector<std::string>{"b", "c"}));
  next.list(kVfio, former.lists[kVfio], kStart);
  next.inherit(holds, kStart + 12s);
  CHECK(next.complete());
  CHECK_FALSE(next.undecided(kNic, std::vector<std::string>{"a", "b"}));
  CHECK(told == 1);  // the holders must be queried
  CHECK(next.give(kVfio, std::vector<std::string>{"v"}, kStart + 12s) ==
        "v: held by default/train as x.com/nic a");
  CHECK_FALSE(next.give(kVfio, std::vector<std::string>{"w"}, kStart + 12s).empty());
  // The Allocate was 2 s old.
  next.update_holds({{{kNic, "a"}, "default/train"}}, kStart + 10s + Ledger::kUntold - 1ms, kStart + 20s);
  CHECK(next.held({kNic, "b"}));
  next.update_holds({{{kNic, "a"}, "default/train"}}, kStart + 10s + Ledger::kUntold, kStart + 20s);
  CHECK_FALSE(next.held({kNic, "b"}));
}

TEST_CASE("ledger: a hold that a successor knows better is not replaced") {
  Ledger next({}, false);
  next.update_holds({{{kNic, "a"}, "default/new"}}, kStart, kStart);
  const std::vector<Ledger::Hold> holds{{.name = {kNic, "a"}, .who = "default/old"}};
  next.inherit(holds, kStart);
  CHECK(next.holds(kStart).front().who == "default/new");
}

}  // namespace plughost
