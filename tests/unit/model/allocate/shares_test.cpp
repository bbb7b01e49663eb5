#include "model/allocate/one_container.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

TEST_CASE("whether a container's replicas fulfil `shares` depends only on how many belong to each device") {
  const Inventory inventory({{.id = "a", .replicas = 4}, {.id = "b", .replicas = 4}});
  using enum SharesOf;
  CHECK(fulfils(kAny, inventory, Texts{"a::0", "a::1", "b::0"}));
  CHECK(fulfils(kOneDevice, inventory, Texts{"a::0", "a::1"}));
  CHECK_FALSE(fulfils(kOneDevice, inventory, Texts{"a::0", "b::1"}));
  CHECK(fulfils(kDifferentDevices, inventory, Texts{"a::0", "b::1"}));
  CHECK_FALSE(fulfils(kDifferentDevices, inventory, Texts{"a::0", "a::1", "b::1"}));
  for (const SharesOf terms : {kAny, kOneDevice, kDifferentDevices}) {
    CHECK(fulfils(terms, inventory, {}));
    CHECK(fulfils(terms, inventory, Texts{"a::0"}));
  }
}

TEST_CASE("free units are reported by card, in the cards' order, without empty cards") {
  const Inventory cards({{.id = "a", .attributes = {{.name = "uuid", .value = "GPU-a"}}, .replicas = 4},
                         {.id = "b", .replicas = 4},
                         {.id = "c", .replicas = 4}});
  const std::vector<std::string> free{"c::0", "a::1", "c::3", "nobody's"};
  CHECK(free_shares(cards, free) == "1 on GPU-a, 2 on c");
  CHECK(free_shares(cards, {}).empty());
}

TEST_CASE("recorded free units are used only for the same resource, and for one second") {
  FreeShares free;
  const auto now = FreeShares::Clock::time_point(1h);
  CHECK(free.just_now(now).empty());
  free.record({{"example.com/a", "1 on GPU-a"}}, now);
  CHECK(free.just_now(now + 1s)["example.com/a"] == "1 on GPU-a");
  CHECK(free.just_now(now + 1s + 1ns)["example.com/a"].empty());
  CHECK(free.just_now(now)["example.com/b"].empty());
}

}  // namespace
}  // namespace plughost
