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

TEST_CASE("ids that no device has come last, and each id comes once") {
  const Ids available = {"zzz", "a::9", "b::0", "b::0", "a::0", "b::0"};
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed}) {
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
  for (const AllocationPolicy policy : {kNone, kPacked, kDistributed}) {
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
