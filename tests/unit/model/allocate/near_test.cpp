#include "model/allocate/one_container.hpp"

#include <doctest/doctest.h>

#include "model/allocate/preferred.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;
using namespace std::chrono_literals;
using enum AllocationPolicy;

const std::string kSwitchA = "pci0000:3a/0000:3a:00.0/0000:3b:00.0/";
const std::string kSwitchB = "pci0000:3a/0000:3a:02.0/0000:4b:00.0/";
const std::string kOtherRoot = "pci0000:85/0000:85:00.0/";

// Returns devices a and b behind one switch, c behind a different switch of the same host bridge, and d
// behind a different host bridge.
Inventory four() {
  std::vector<Device> devices(4);
  const Texts paths = {kSwitchA + "0000:3c:00.0", kSwitchA + "0000:3d:00.0", kSwitchB + "0000:4c:00.0",
                       kOtherRoot + "0000:86:00.0"};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].id = std::string(1, "abcd"[i]);
    devices[i].attributes = {{"pciPath", paths[i]}};
  }
  return Inventory(std::move(devices));
}

Texts choose(AllocationPolicy policy, std::size_t size, const Texts& near,
             const Inventory& inventory = four()) {
  Texts all;
  inventory.for_each_id([&](const std::string& id, const Device&) { all.push_back(id); });
  return preferred(policy, inventory, all, {}, size, near);
}

TEST_CASE(
    "devices behind one switch are nearer than devices behind one host bridge, and these nearer than "
    "others") {
  const Texts card = {kSwitchA + "0000:3e:00.0"};
  const unsigned by_switch = nearness(kSwitchA + "0000:3c:00.0", card);
  const unsigned by_bridge = nearness(kSwitchB + "0000:4c:00.0", card);
  CHECK(by_switch > by_bridge);
  CHECK(by_bridge > 0);
  CHECK(nearness(kOtherRoot + "0000:86:00.0", card) == 0);
  CHECK(nearness("pci0000:3a", {}) == 0);
}

TEST_CASE("of equally near devices the one with more devices beside it comes first") {
  const Texts cards = {kSwitchA + "0000:3e:00.0", kSwitchB + "0000:4d:00.0", kSwitchB + "0000:4e:00.0"};
  CHECK(nearness(kSwitchB + "0000:4c:00.0", cards) > nearness(kSwitchA + "0000:3c:00.0", cards));
  // The number of devices that are farther away does not matter.
  const Texts one = {kSwitchA + "0000:3e:00.0"};
  const Texts behind_others = {kSwitchB + "0000:4d:00.0", kSwitchB + "0000:4e:00.0", one[0],
                               kOtherRoot + "0000:86:00.0"};
  CHECK(nearness(kSwitchA + "0000:3c:00.0", behind_others) == nearness(kSwitchA + "0000:3c:00.0", one));
}

TEST_CASE("bridges whose names only begin with the same characters are different bridges") {
  CHECK(nearness("pci0000:3a/0000:3a:00.0", Texts{"pci0000:3/0000:03:00.0"}) == 0);
}

TEST_CASE("each policy chooses the near ones among equal devices") {
  const Texts near = {kOtherRoot + "0000:87:00.0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed, kAligned}) {
    CAPTURE(static_cast<int>(policy));
    CHECK(choose(policy, 1, near) == Texts{"d"});
    CHECK(choose(policy, 1, {}) == Texts{"a"});
  }
  CHECK(choose(kNone, 2, {kSwitchB + "0000:4d:00.0"}) == Texts{"c", "a"});
}

TEST_CASE("the policy precedes nearness") {
  std::vector<Device> devices(2);
  devices[0].id = "a";
  devices[1].id = "b";
  devices[1].attributes = {{"pciPath", kSwitchA + "0000:3c:00.0"}};
  for (Device& device : devices) device.replicas = 2;
  const Inventory inventory(std::move(devices));
  const Texts free = {"a::0", "b::0", "b::1"};  // so a is in use
  const Texts near = {kSwitchA + "0000:3d:00.0"};
  CHECK(preferred(kPacked, inventory, free, {}, 1, near) == Texts{"a::0"});
  CHECK(preferred(kDistributed, inventory, Texts{"a::0", "a::1", "b::0"}, {}, 1, near) == Texts{"a::0"});
}

TEST_CASE("of several equally good sets of cards the set near the other resource is chosen") {
  std::vector<Device> devices(4);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string pci = "0000:0" + std::to_string(i) + ":00.0";
    devices[i].id = std::string(1, "abcd"[i]);
    devices[i].attributes = {{"pci", pci}, {"pciPath", (i < 2 ? kSwitchA : kOtherRoot) + pci}};
    const std::size_t twin = i ^ 1u;
    devices[i].hardware.edit().bonds = {{.pci = "0000:0" + std::to_string(twin) + ":00.0", .score = 50}};
  }
  const Inventory inventory(std::move(devices));
  CHECK(choose(kAligned, 2, {}, inventory) == Texts{"a", "b"});
  CHECK(choose(kAligned, 2, {kOtherRoot + "0000:87:00.0"}, inventory) == Texts{"c", "d"});
}

TEST_CASE("devices that the same container has just got count first, and then all Healthy ones") {
  const auto now = LastGiven::Clock::time_point(1h);
  const auto given = std::make_shared<LastGiven>();
  const Neighbours neighbours{.healthy = {"pci0000:00/a", "pci0000:00/b"}, .given = given};
  CHECK(neighbours.paths(now) == neighbours.healthy);
  given->record({"pci0000:00/b"}, now);
  CHECK(neighbours.paths(now + LastGiven::kSameContainer) == Texts{"pci0000:00/b"});
  CHECK(neighbours.paths(now + LastGiven::kSameContainer + 1ms) == neighbours.healthy);
  given->record({}, now);
  CHECK(neighbours.paths(now) == neighbours.healthy);
}

}  // namespace
}  // namespace plughost
