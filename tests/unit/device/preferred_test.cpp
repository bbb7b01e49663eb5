#include "device/preferred.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace plughost {
namespace {

using Ids = std::vector<std::string>;
using enum AllocationPolicy;

// a, b and c with four replicas each.
Inventory three_shared() {
  std::vector<Device> devices(3);
  for (std::size_t i = 0; i < 3; ++i) {
    devices[i].id = std::string(1, "abc"[i]);
    devices[i].replicas = 4;
  }
  return Inventory(std::move(devices));
}

Ids all_but(const Inventory& inventory, const std::set<std::string>& used) {
  Ids ids;
  inventory.for_each_id([&](const std::string& id, const Device&) {
    if (!used.contains(id)) ids.push_back(id);
  });
  return ids;
}

TEST_CASE("without a policy the ids come as they were offered") {
  CHECK(preferred(kNone, three_shared(), Ids{"c::1", "a::0", "b::3"}, Ids{"b::3"}, 2) == Ids{"b::3", "c::1"});
}

TEST_CASE("packed fills the devices that are most in use") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"b::0", "b::2", "c::1"});
  CHECK(preferred(kPacked, inventory, available, {}, 4) == Ids{"b::1", "b::3", "c::0", "c::2"});
  CHECK(preferred(kPacked, inventory, all_but(inventory, {}), {}, 5) ==
        Ids{"a::0", "a::1", "a::2", "a::3", "b::0"});
}

TEST_CASE("packed counts what must be included as in use") {
  const Inventory inventory = three_shared();
  CHECK(preferred(kPacked, inventory, all_but(inventory, {}), Ids{"c::2"}, 3) == Ids{"c::2", "c::0", "c::1"});
}

TEST_CASE("distributed takes the least used device each time") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "a::1", "b::0"});
  CHECK(preferred(kDistributed, inventory, available, {}, 5) == Ids{"c::0", "b::1", "c::1", "a::2", "b::2"});
  CHECK(preferred(kDistributed, inventory, all_but(inventory, {}), Ids{"a::3"}, 3) ==
        Ids{"a::3", "b::0", "c::0"});
}

// Four devices on node 0, two on node 1, three on node 2, and one on none.
Inventory nodes() {
  std::vector<Device> devices;
  for (const auto& [id, node] : std::vector<std::pair<std::string, int>>{
           {"0a", 0}, {"0b", 0}, {"0c", 0}, {"0d", 0}, {"1a", 1}, {"1b", 1}, {"2a", 2}, {"2b", 2}, {"2c", 2}})
    devices.push_back({.id = id, .numa_nodes = {node}});
  devices.push_back({.id = "-"});
  return Inventory(std::move(devices));
}

TEST_CASE("aligned takes the node whose free devices are enough and fewest") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, {}, 2) == Ids{"1a", "1b"});
  CHECK(preferred(kAligned, inventory, all, {}, 3) == Ids{"2a", "2b", "2c"});
  CHECK(preferred(kAligned, inventory, all, {}, 4) == Ids{"0a", "0b", "0c", "0d"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"1a"}), {}, 1) == Ids{"1b"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"1a"}), {}, 2) == Ids{"2a", "2b"});
}

TEST_CASE("aligned stays on the node of what must be included") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, Ids{"0c"}, 3) == Ids{"0c", "0a", "0b"});
  CHECK(preferred(kAligned, inventory, all, Ids{"-", "2b"}, 3) == Ids{"-", "2b", "2a"});
  CHECK(preferred(kAligned, inventory, all, Ids{"1a"}, 4) == Ids{"1a", "1b", "2a", "2b"});
  CHECK(preferred(kAligned, inventory, all, Ids{"1a", "1b"}, 3) == Ids{"1a", "1b", "2a"});
}

TEST_CASE("aligned takes as few nodes as it can, and devices without a node last") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, {}, 6) == Ids{"0a", "0b", "0c", "0d", "1a", "1b"});
  CHECK(preferred(kAligned, inventory, all, {}, 10).back() == "-");
}

TEST_CASE("aligned packs within a node, and counts a device of several nodes on each") {
  std::vector<Device> devices{{.id = "a", .numa_nodes = {0}, .replicas = 2},
                              {.id = "b", .numa_nodes = {0}, .replicas = 2},
                              {.id = "c", .numa_nodes = {0, 1}, .replicas = 2}};
  const Inventory inventory(std::move(devices));
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"b::0", "c::0", "c::1"}), {}, 2) ==
        Ids{"b::1", "a::0"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {}), {}, 2) == Ids{"c::0", "c::1"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {}), Ids{"c::1"}, 4) ==
        Ids{"c::1", "c::0", "a::0", "a::1"});
}

TEST_CASE("aligned goes on with the other node of what must be included, if one is not enough") {
  const Inventory inventory({{.id = "-"},
                             {.id = "a", .numa_nodes = {0}},
                             {.id = "b", .numa_nodes = {1}},
                             {.id = "both", .numa_nodes = {0, 1}}});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {}), Ids{"both"}, 4) == Ids{"both", "a", "b", "-"});
}

TEST_CASE("aligned without any node is packed") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"b::0", "b::2", "c::1"});
  CHECK(preferred(kAligned, inventory, available, {}, 4) == preferred(kPacked, inventory, available, {}, 4));
}

TEST_CASE("ids that no device has come last, and each id comes once") {
  const Ids available = {"zzz", "a::9", "b::0", "b::0", "a::0", "b::0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed, kAligned}) {
    const Ids chosen = preferred(policy, three_shared(), available, {}, 10);
    REQUIRE(chosen.size() == 4);
    CHECK(chosen[2] == "zzz");
    CHECK(chosen[3] == "a::9");
  }
}

TEST_CASE("every answer has the asked size, all that must be included, and only what was available") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::1", "c::0"});
  const Ids must = {"c::3", "a::0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed, kAligned}) {
    for (std::size_t size = 2; size <= 12; ++size) {
      const Ids chosen = preferred(policy, inventory, available, must, size);
      const std::set<std::string> distinct(chosen.begin(), chosen.end());
      CHECK(distinct.size() == std::min(size, available.size()));
      CHECK(chosen.size() == distinct.size());
      for (const std::string& id : must) CHECK(distinct.contains(id));
      for (const std::string& id : chosen) CHECK(std::ranges::count(available, id) == 1);
    }
  }
}

TEST_CASE("what must be included is included even if it was not available or is too much") {
  CHECK(preferred(kPacked, three_shared(), Ids{"a::0"}, Ids{"b::0", "b::0", "x"}, 3) ==
        Ids{"b::0", "x", "a::0"});
  CHECK(preferred(kDistributed, three_shared(), Ids{"a::0"}, Ids{"b::0", "b::1"}, 1) == Ids{"b::0", "b::1"});
  CHECK(preferred(kDistributed, Inventory(), {}, {}, 3) == Ids{});
}

}  // namespace
}  // namespace plughost
