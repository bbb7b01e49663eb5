#include "model/allocate/preferred.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <random>
#include <set>

namespace plughost {
namespace {

using Ids = std::vector<std::string>;
using enum AllocationPolicy;

// Returns devices a, b and c with four replicas each.
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

TEST_CASE("without a policy the required ids come first, and the others keep their order") {
  CHECK(preferred(kNone, three_shared(), Ids{"c::1", "a::0", "b::3"}, Ids{"b::3"}, 2) == Ids{"b::3", "c::1"});
}

TEST_CASE("packed fills the devices that are most in use") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"b::0", "b::2", "c::1"});
  CHECK(preferred(kPacked, inventory, available, {}, 4) == Ids{"b::1", "b::3", "c::0", "c::2"});
  CHECK(preferred(kPacked, inventory, all_but(inventory, {}), {}, 5) ==
        Ids{"a::0", "a::1", "a::2", "a::3", "b::0"});
}

TEST_CASE("packed counts required ids as in use") {
  const Inventory inventory = three_shared();
  CHECK(preferred(kPacked, inventory, all_but(inventory, {}), Ids{"c::2"}, 3) == Ids{"c::2", "c::0", "c::1"});
}

TEST_CASE("distributed chooses the least used device each time") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "a::1", "b::0"});
  CHECK(preferred(kDistributed, inventory, available, {}, 5) == Ids{"c::0", "b::1", "c::1", "a::2", "b::2"});
  CHECK(preferred(kDistributed, inventory, all_but(inventory, {}), Ids{"a::3"}, 3) ==
        Ids{"a::3", "b::0", "c::0"});
}

TEST_CASE("spread takes replicas of different devices first, in the order of least use") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "a::1", "a::2", "b::0"});
  CHECK(preferred(kSpread, inventory, available, {}, 1) == Ids{"c::0"});
  CHECK(preferred(kSpread, inventory, available, {}, 3) == Ids{"c::0", "b::1", "a::3"});
  CHECK(preferred(kSpread, inventory, available, {}, 6) ==
        Ids{"c::0", "b::1", "a::3", "c::1", "b::2", "c::2"});
  // The required ids count as taken.
  CHECK(preferred(kSpread, inventory, available, Ids{"c::3"}, 3) == Ids{"c::3", "b::1", "a::3"});
  CHECK(preferred(kSpread, inventory, Ids{"c::0", "b::1", "c::3", "c::2"}, Ids{"c::3", "c::2"}, 4) ==
        Ids{"c::3", "c::2", "b::1", "c::0"});
}

TEST_CASE("with spread, eight replicas come from as many different devices as have a free replica") {
  std::vector<Device> devices(8);
  for (std::size_t i = 0; i < 8; ++i) {
    devices[i].id = std::string(1, "abcdefgh"[i]);
    devices[i].replicas = 10;
  }
  const Inventory inventory(std::move(devices));
  std::mt19937 random(8);  // NOLINT(bugprone-random-generator-seed): the same patterns each time
  for (int round = 0; round < 100; ++round) {
    Ids available;
    std::set<const Device*> with_free;
    for (const std::string& id : all_but(inventory, {})) {
      if (random() % 4 != 0) continue;
      available.push_back(id);
      with_free.insert(inventory.find(id));
    }
    std::ranges::shuffle(available, random);
    std::set<const Device*> of;
    for (const std::string& id : preferred(kSpread, inventory, available, {}, 8))
      of.insert(inventory.find(id));
    CHECK(of.size() == with_free.size());
  }
}

// Returns four devices on NUMA node 0, two on node 1, three on node 2, and one without a node.
Inventory nodes() {
  std::vector<Device> devices;
  for (const auto& [id, node] : std::vector<std::pair<std::string, int>>{
           {"0a", 0}, {"0b", 0}, {"0c", 0}, {"0d", 0}, {"1a", 1}, {"1b", 1}, {"2a", 2}, {"2b", 2}, {"2c", 2}})
    devices.push_back({.id = id, .numa_nodes = {node}});
  devices.push_back({.id = "-"});
  return Inventory(std::move(devices));
}

TEST_CASE("aligned takes the NUMA node with the fewest free devices that still suffice") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, {}, 2) == Ids{"1a", "1b"});
  CHECK(preferred(kAligned, inventory, all, {}, 3) == Ids{"2a", "2b", "2c"});
  CHECK(preferred(kAligned, inventory, all, {}, 4) == Ids{"0a", "0b", "0c", "0d"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"1a"}), {}, 1) == Ids{"1b"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"1a"}), {}, 2) == Ids{"2a", "2b"});
}

TEST_CASE("aligned stays on the node of the required ids") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, Ids{"0c"}, 3) == Ids{"0c", "0a", "0b"});
  CHECK(preferred(kAligned, inventory, all, Ids{"-", "2b"}, 3) == Ids{"-", "2b", "2a"});
  CHECK(preferred(kAligned, inventory, all, Ids{"1a"}, 4) == Ids{"1a", "1b", "2a", "2b"});
  CHECK(preferred(kAligned, inventory, all, Ids{"1a", "1b"}, 3) == Ids{"1a", "1b", "2a"});
}

TEST_CASE("aligned uses as few NUMA nodes as possible, and devices without a node last") {
  const Inventory inventory = nodes();
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, {}, 6) == Ids{"0a", "0b", "0c", "0d", "1a", "1b"});
  CHECK(preferred(kAligned, inventory, all, {}, 10).back() == "-");
}

TEST_CASE("aligned packs within a NUMA node, and counts a device of several nodes on each") {
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

TEST_CASE("aligned continues with the other node of the required ids, if one is not enough") {
  const Inventory inventory({{.id = "-"},
                             {.id = "a", .numa_nodes = {0}},
                             {.id = "b", .numa_nodes = {1}},
                             {.id = "both", .numa_nodes = {0, 1}}});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {}), Ids{"both"}, 4) == Ids{"both", "a", "b", "-"});
}

TEST_CASE("aligned without any NUMA node is packed") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"b::0", "b::2", "c::1"});
  CHECK(preferred(kAligned, inventory, available, {}, 4) == preferred(kPacked, inventory, available, {}, 4));
}

TEST_CASE("unknown ids come last, and each id once") {
  const Ids available = {"zzz", "a::9", "b::0", "b::0", "a::0", "b::0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed, kSpread, kAligned}) {
    const Ids chosen = preferred(policy, three_shared(), available, {}, 10);
    REQUIRE(chosen.size() == 4);
    CHECK(chosen[2] == "zzz");
    CHECK(chosen[3] == "a::9");
  }
}

TEST_CASE("every response has the requested size, all required devices, and only available ones") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::1", "c::0"});
  const Ids must = {"c::3", "a::0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed, kSpread, kAligned}) {
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

TEST_CASE("required devices are included even if they are not available or too many") {
  CHECK(preferred(kPacked, three_shared(), Ids{"a::0"}, Ids{"b::0", "b::0", "x"}, 3) ==
        Ids{"b::0", "x", "a::0"});
  CHECK(preferred(kDistributed, three_shared(), Ids{"a::0"}, Ids{"b::0", "b::1"}, 1) == Ids{"b::0", "b::1"});
  CHECK(preferred(kDistributed, Inventory(), {}, {}, 3) == Ids{});
}

using Score = std::function<unsigned(std::size_t, std::size_t)>;

// Returns devices "c00", "c01" and so on, each with its own PCI address, and with `score` for each pair.
Inventory bonded(std::size_t count, const Score& score) {
  std::vector<Device> devices;
  const auto name = [](std::size_t i) { return std::string(i < 10 ? "0" : "") + std::to_string(i); };
  for (std::size_t i = 0; i < count; ++i) {
    Device& device = devices.emplace_back();
    device.id = "c" + name(i);
    device.attributes = {{.name = "pci", .value = name(i)}};
    for (std::size_t j = 0; j < count; ++j) {
      if (i != j)
        device.hardware.edit().bonds.push_back(
            {.pci = name(j), .score = score(std::min(i, j), std::max(i, j))});
    }
  }
  return Inventory(std::move(devices));
}

// Returns the score of two cards. Even cards are on one board, in two groups of four with links, and odd
// cards on a second board.
unsigned two_boards(std::size_t i, std::size_t j) {
  if (i % 2 != j % 2) return 10;
  return i / 8 == j / 8 ? 360 : 20;
}

TEST_CASE("aligned chooses the cards that are nearest to each other") {
  const Inventory inventory = bonded(16, two_boards);
  const Ids all = all_but(inventory, {});
  CHECK(preferred(kAligned, inventory, all, {}, 4) == Ids{"c00", "c02", "c04", "c06"});
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"c02"}), {}, 4) ==
        Ids{"c01", "c03", "c05", "c07"});
  CHECK(preferred(kAligned, inventory, all, Ids{"c11"}, 3) == Ids{"c11", "c09", "c13"});
  CHECK(preferred(kAligned, inventory, all, {}, 16).size() == 16);
  CHECK(preferred(kAligned, inventory, all, {}, 20).size() == 16);
  CHECK(preferred(kAligned, inventory, Ids{"c03", "x"}, {}, 2) == Ids{"c03", "x"});
}

TEST_CASE("aligned tries every set of 8 among 16, fast enough for a pod") {
  // Scores without a pattern, which are the same in each run.
  const Score score = [](std::size_t i, std::size_t j) {
    return static_cast<unsigned>((i * 7919 + j * 104729) * 2654435761u % 467);
  };
  const Inventory inventory = bonded(16, score);
  const Ids all = all_but(inventory, {});
  const auto begin = std::chrono::steady_clock::now();
  const Ids chosen = preferred(kAligned, inventory, all, {}, 8);
  const auto took = std::chrono::steady_clock::now() - begin;
  unsigned most = 0;
  Ids best;
  for (unsigned mask = 0; mask < 1u << 16; ++mask) {
    if (std::popcount(mask) != 8) continue;
    unsigned sum = 0;
    Ids ids;
    for (std::size_t i = 0; i < 16; ++i) {
      if ((mask >> i & 1) == 0) continue;
      ids.push_back(all[i]);
      for (std::size_t j = i + 1; j < 16; ++j) sum += (mask >> j & 1) != 0 ? score(i, j) : 0;
    }
    if (sum <= most) continue;
    most = sum;
    best = ids;
  }
  CHECK(chosen == best);
  MESSAGE("8 of 16 in ", std::chrono::duration_cast<std::chrono::microseconds>(took).count(), " us");
}

TEST_CASE("aligned of more than 16 cards finds a near set") {
  const Inventory inventory =
      bonded(24, [](std::size_t i, std::size_t j) { return i / 8 == j / 8 ? 160u : 10u; });
  CHECK(preferred(kAligned, inventory, all_but(inventory, {"c03", "c05"}), {}, 8) ==
        Ids{"c08", "c09", "c10", "c11", "c12", "c13", "c14", "c15"});
}

TEST_CASE("oneCard takes the card with the fewest free units that still suffice") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "b::0", "b::1"});  // 3 of a, 2 of b, 4 of c
  CHECK(preferred(kOneCard, inventory, available, {}, 1) == Ids{"b::2"});
  CHECK(preferred(kOneCard, inventory, available, {}, 2) == Ids{"b::2", "b::3"});
  CHECK(preferred(kOneCard, inventory, available, {}, 3) == Ids{"a::1", "a::2", "a::3"});
  CHECK(preferred(kOneCard, inventory, available, {}, 4) == Ids{"c::0", "c::1", "c::2", "c::3"});
}

TEST_CASE("with oneCard the required ids decide the card") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "b::0", "b::1"});
  CHECK(preferred(kOneCard, inventory, available, Ids{"c::1"}, 2) == Ids{"c::1", "c::0"});
  CHECK(preferred(kOneCard, inventory, available, Ids{"a::0", "a::1"}, 4) ==
        Ids{"a::0", "a::1", "a::2", "a::3"});
}

TEST_CASE("if no card has enough for oneCard, the fullest are used up first, and it is no error") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "b::0", "b::1"});
  CHECK(preferred(kOneCard, inventory, available, {}, 5) == preferred(kPacked, inventory, available, {}, 5));
  CHECK(preferred(kOneCard, inventory, available, {}, 20).size() == 9);
  const Ids two_cards{"a::1", "c::1"};
  CHECK(preferred(kOneCard, inventory, available, two_cards, 3) == Ids{"a::1", "c::1", "a::2"});
  CHECK(preferred(kOneCard, inventory, available, Ids{"b::2"}, 4) ==
        preferred(kPacked, inventory, available, Ids{"b::2"}, 4));
  CHECK(preferred(kOneCard, inventory, Ids{"x", "a::1"}, {}, 2) == Ids{"a::1", "x"});
}

TEST_CASE("if ids have to be of one card, every policy chooses those of one if it can") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"a::0", "b::0", "b::1"});
  const ShareTerms one{.of = SharesOf::kOneDevice, .same = {}};
  for (const AllocationPolicy policy : {kPacked, kAligned, kOneCard})
    CHECK(preferred(policy, inventory, available, {}, 2, {}, one) == Ids{"b::2", "b::3"});
  CHECK(preferred(kDistributed, inventory, available, {}, 2, {}, one) == Ids{"c::0", "c::1"});
  CHECK(preferred(kDistributed, inventory, available, {}, 5, {}, one) ==
        preferred(kDistributed, inventory, available, {}, 5));
}

TEST_CASE("if ids have to be of different devices, every policy chooses one of each while it can") {
  const Inventory inventory = three_shared();
  const Ids available = all_but(inventory, {"b::0", "b::1", "c::0"});
  const ShareTerms different{.of = SharesOf::kDifferentDevices, .same = {}};
  const auto chosen = [&](AllocationPolicy policy, std::size_t size, const Ids& must = {}) {
    return preferred(policy, inventory, available, must, size, {}, different);
  };
  CHECK(chosen(kNone, 2) == Ids{"a::0", "b::2"});
  CHECK(chosen(kPacked, 2) == Ids{"b::2", "c::1"});
  CHECK(chosen(kAligned, 2) == Ids{"b::2", "c::1"});
  CHECK(chosen(kOneCard, 2) == Ids{"b::2", "c::1"});
  CHECK(chosen(kDistributed, 2) == Ids{"a::0", "c::1"});
  CHECK(chosen(kSpread, 3) == Ids{"a::0", "c::1", "b::2"});
  CHECK(chosen(kPacked, 2, {"b::3"}) == Ids{"b::3", "c::1"});
  // With too few devices, the number of ids is still complete.
  for (const AllocationPolicy policy : {kNone, kPacked, kAligned, kOneCard, kDistributed, kSpread})
    CHECK(chosen(policy, 5).size() == 5);
}

TEST_CASE(
    "the cards that the container already has are preferred, also if their ids differ between entries") {
  std::vector<Device> devices(3);
  for (std::size_t i = 0; i < 3; ++i) {
    devices[i].id = std::string(1, "xyz"[i]);
    devices[i].attributes = {{"uuid", std::string("GPU-") + "abc"[i]}};
    devices[i].replicas = 4;
  }
  const Inventory inventory(std::move(devices));
  const Ids available = all_but(inventory, {"x::0", "y::0", "y::1"});
  const std::vector<CardName> same{{.uuid = "GPU-c", .pci = {}, .index = {}, .id = "0"}};
  const ShareTerms terms{.of = SharesOf::kOneDevice, .same = same};
  CHECK(preferred(kOneCard, inventory, available, {}, 2, {}, terms) == Ids{"z::0", "z::1"});
  CHECK(preferred(kNone, inventory, available, {}, 2, {}, {.of = SharesOf::kAny, .same = same}) ==
        Ids{"z::0", "z::1"});
  // If the card has too few units, units of others are added.
  CHECK(preferred(kOneCard, inventory, available, {}, 5, {}, terms) ==
        Ids{"z::0", "z::1", "z::2", "z::3", "x::1"});
}

}  // namespace
}  // namespace plughost
