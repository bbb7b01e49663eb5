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
const std::string kNic = "x.com/nic";  // the same functions in two entries
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
  // Returns why the device is not available; empty: it is.
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

TEST_CASE("ledger: a device of two resources is held in both while it is held in one") {
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

TEST_CASE("ledger: a unit includes what is below it, and not what is beside it") {
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
    "ledger: a device that is listed later is blocked from its first list on, and an unlisted one stays "
    "held") {
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

TEST_CASE("ledger: removed hardware holds nothing, and returned hardware only at its new place") {
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

TEST_CASE("ledger: hardware that a container was given stays held, though its id has another meaning now") {
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

TEST_CASE("ledger: a changed link takes no hardware from the container that was given it") {
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

TEST_CASE("ledger: a given device stays held although an earlier query does not report it") {
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
  // An incomplete answer ends nothing.
  rig.update_holds({{{kNic, "a"}, "p"}}, kStart + 10s);
  rig.update_holds({}, Clock::time_point::min());
  CHECK(rig.why(kVfio, "v") == "held by p as x.com/nic a");
}

TEST_CASE("ledger: a share is held as a sole use when the sharing ends, however soon") {
  Rig rig;
  rig.list(kNic, {device_of("a", {})});  // shared: an entry's shares have no hardware of their own
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

TEST_CASE("ledger: a former sole holder keeps its device when a share is given") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("v", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  rig.ledger.keep(kNic);
  rig.list(kNic, {device_of("a", {})});
  CHECK(rig.give(kNic, {"a"}, kStart + 1s).empty());
  CHECK_FALSE(rig.why(kVfio, "v").empty());
  rig.update_holds({}, kStart + 1s + Ledger::kUntold - 1ms);  // the share is recent
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

  SUBCASE("which may have all of it at once") {
    CHECK(rig.give(kVfio, {"0", "1"}, kStart + 1min).empty());
    CHECK(rig.why(kVfio, "0").empty());
    CHECK(rig.why(kVfio, "1").empty());
  }
  SUBCASE("or one by one, through other resources, while it is being admitted") {
    rig.list(kNic, {device_of("audio", {kOther, group})}, kStart + 1min);
    CHECK(rig.give(kVfio, {"0"}, kStart + 1min).empty());
    CHECK_FALSE(rig.why(kVfio, "1").empty());
    CHECK(rig.why(kNic, "audio").empty());
    SUBCASE("which it does at once") {
      CHECK(rig.give(kNic, {"audio"}, kStart + 1min + Ledger::kSameContainer).empty());
      CHECK(rig.why(kNic, "audio").empty());
    }
    SUBCASE("and is over soon") {
      rig.ledger.refresh(kStart + 1min + Ledger::kSameContainer);
      CHECK(rig.why(kNic, "audio").empty());
      rig.ledger.refresh(kStart + 1min + Ledger::kSameContainer + 1ms);
      CHECK_FALSE(rig.why(kNic, "audio").empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min + Ledger::kSameContainer + 1ms).empty());
    }
    SUBCASE("or when the next container is admitted") {
      CHECK(rig.give(kVfio, {"2"}, kStart + 1min).empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min).empty());
    }
    SUBCASE("or when the next container asks for a share of what the first one has a share of") {
      CHECK(rig.give("x.com/shared", {"s"}, kStart + 1min).empty());
      CHECK(rig.why(kNic, "audio").empty());
      CHECK(rig.give("x.com/shared", {"s"}, kStart + 1min).empty());
      CHECK_FALSE(rig.give(kNic, {"audio"}, kStart + 1min).empty());
    }
  }
}

TEST_CASE("ledger: an ended holder that is not reported yet does not block a sole use") {
  Rig rig;
  rig.list(kNic, {device_of("a", {kCard})});
  rig.list(kVfio, {device_of("1", {kCard})});
  CHECK(rig.give(kNic, {"a"}).empty());
  rig.update_holds({{{kNic, "a"}, "default/nic"}, {{kVfio, "1"}, "default/vm"}},
                   kStart + 10s);  // two pods hold it
  CHECK(rig.ledger.open());        // one of them may have ended
  rig.update_holds({{{kNic, "a"}, "default/vm"}, {{kVfio, "1"}, "default/vm"}}, kStart + 11s);
  CHECK_FALSE(rig.ledger.open());  // one pod holds both
  rig.update_holds({{{kNic, "a"}, "default/nic"}, {{kVfio, "1"}, "default/vm"}}, kStart + 12s);
  CHECK(rig.give(kNic, {"a"}, kStart + 20s) == "a: held by default/vm as x.com/vfio 1");
  CHECK(rig.why(kNic, "a").empty());  // unchanged until the kubelet reports
  rig.update_holds({{{kVfio, "1"}, "default/vm"}}, kStart + 30s);
  CHECK(rig.why(kNic, "a") == "held by default/vm as x.com/vfio 1");
  rig.update_holds({}, kStart + 40s);
  CHECK_FALSE(rig.ledger.open());
}

TEST_CASE("ledger: a device is reported as held once") {
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

}  // namespace plughost
