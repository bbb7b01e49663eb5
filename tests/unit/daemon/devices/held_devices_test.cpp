#include "daemon/devices/held_devices.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/platform/process.hpp"
#include "unit/daemon/resource_names.hpp"
#include "unit/run_until.hpp"

namespace plughost {
namespace {

using test::kA;
using test::kB;
using namespace std::chrono_literals;

// Two resources that list one card, and a simulated kubelet.
struct Rig {
  test::Process process;
  std::vector<HoldingsReader::Done> asked;
  unsigned changes = 0;
  HeldDevices held{process.loop, process.platform.log,
                   [this](HoldingsReader::Done done) { asked.push_back(std::move(done)); },
                   [this] { ++changes; }};

  Rig() {
    held.list(kA, card());
    held.list(kB, card());
  }
  static std::vector<Device> card() {
    std::vector<Device> devices{{.id = "card"}};
    devices[0].hardware.edit().units = {"/sys/devices/card"};
    return devices;
  }
  void give(const std::string& resource) {
    const std::vector<std::string> ids{"card"};
    REQUIRE(held.ledger()->give(resource, ids, Ledger::Clock::now()).empty());
  }
  bool blocked(const std::string& resource) const { return held.ledger()->touches(resource); }
  void pass(std::chrono::milliseconds time) { test::pass(process.loop, time); }
  bool changed(unsigned times) {
    return test::run_until(process.loop, [&] { return changes == times; });
  }
  // Returns true if the kubelet is queried exactly once more within `time`.
  bool asks_after(std::chrono::milliseconds time) {
    const std::size_t before = asked.size();
    test::run_once(process.loop);
    pass(time);
    return asked.size() == before + 1;
  }
  void answer(const Holdings& holdings, bool complete = true) {
    asked.back()({.holdings = std::make_shared<const Holdings>(holdings),
                  .complete = complete,
                  .asked = EventLoop::Clock::now()});
  }
  static Holdings holds(std::initializer_list<const char*> pods) {
    HoldingsBuilder holdings;
    for (const char* pod : pods)
      holdings.add(kA, "card", std::make_shared<const Holder>(Holder{"default", pod, "main"}));
    return std::move(holdings).build();
  }
};

TEST_CASE(
    "held devices: an allocated device is recorded in the loop, and its holder is queried until the pod "
    "ends") {
  Rig rig;
  rig.give(kA);
  CHECK(rig.blocked(kB));
  REQUIRE(rig.changed(1));
  CHECK(rig.asked.empty());
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer(Rig::holds({"train"}));
  CHECK(rig.changed(2));  // the holder has a name now
  CHECK(rig.blocked(kB));
  REQUIRE(rig.asks_after(HoldingsPoll::kLongestPause));
  rig.pass(Ledger::kUntold);
  rig.answer({});
  CHECK(rig.changed(3));
  CHECK_FALSE(rig.blocked(kB));
  CHECK_FALSE(rig.asks_after(HoldingsPoll::kLongestPause));
}

TEST_CASE("held devices: the checkpoint's holders count until the pod resources API has responded") {
  Checkpoint checkpoint;
  checkpoint.pod_devices.push_back(
      {.pod_uid = "u-1", .container = "c", .resource = kA, .ids = {{-1, {"card"}}}});
  Rig rig;
  rig.held.load_holds(checkpoint);
  CHECK(rig.blocked(kB));
  CHECK(rig.held.held(kA, "card"));
  CHECK_FALSE(rig.held.held(kB, "card"));
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer({});
  CHECK_FALSE(rig.blocked(kB));
  rig.held.load_holds(checkpoint);
  CHECK_FALSE(rig.blocked(kB));
  rig.held.load_holds(checkpoint, true);
  CHECK(rig.blocked(kB));
}

TEST_CASE("held devices: a pod that holds former shares of a device holds the device") {
  Checkpoint checkpoint;
  checkpoint.pod_devices.push_back(
      {.pod_uid = "u-1", .container = "c", .resource = kA, .ids = {{-1, {"card::2", "card::3"}}}});
  Rig rig;
  rig.held.load_holds(checkpoint);
  CHECK(rig.blocked(kB));
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  HoldingsBuilder holdings;
  const auto pod = std::make_shared<const Holder>(Holder{"default", "train", "main"});
  for (const char* id : {"card::2", "card::3", "other::1"}) holdings.add(kA, id, pod);
  rig.answer(std::move(holdings).build());
  CHECK(rig.blocked(kB));
  CHECK(rig.held.held(kA, "card"));
  CHECK(rig.held.held(kA, "other"));
  REQUIRE(rig.asks_after(HoldingsPoll::kLongestPause));
  rig.answer({});
  CHECK_FALSE(rig.blocked(kB));
}

TEST_CASE("held devices: an incomplete response, or a failed query, releases no device") {
  Rig rig;
  rig.give(kA);
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause + Ledger::kUntold));
  rig.answer({}, false);
  CHECK(rig.blocked(kB));
  REQUIRE(rig.asks_after(HoldingsPoll::kLongestPause));
  rig.asked.back()({.holdings = nullptr, .why = "it is silent", .asked = EventLoop::Clock::now()});
  CHECK(rig.blocked(kB));
  REQUIRE(rig.asks_after(HoldingsPoll::kLongestPause));
  rig.answer({});
  CHECK_FALSE(rig.blocked(kB));
}

TEST_CASE("held devices: a call of held() leads to a new query of the kubelet") {
  Rig rig;
  rig.give(kA);
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer(Rig::holds({"train"}));
  rig.held.list(kB, {});  // no resource needs the pod any more
  REQUIRE(rig.asks_after(HoldingsPoll::kLongestPause));
  rig.answer(Rig::holds({"train"}));
  CHECK_FALSE(rig.asks_after(HoldingsPoll::kLongestPause));
  CHECK(rig.held.held(kA, "card"));
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer({});
  CHECK_FALSE(rig.held.held(kA, "card"));
}

TEST_CASE("held devices: two pods that hold one device are reported once for as long as both hold it") {
  Rig rig;
  const auto warnings = [&] { return rig.process.log.warnings().count(); };
  for (const unsigned told : {1u, 1u}) {
    rig.give(kA);
    REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
    rig.answer(Rig::holds({"one", "two"}));
    CHECK(warnings() == told);
  }
  rig.give(kA);
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer(Rig::holds({"one"}));
  rig.give(kA);
  REQUIRE(rig.asks_after(HoldingsPoll::kFirstPause));
  rig.answer(Rig::holds({"one", "two"}));
  CHECK(warnings() == 2);
}

}  // namespace
}  // namespace plughost
