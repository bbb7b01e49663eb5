#include "dra/held_devices.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

PreparedClaim claim_of(const std::string& pool, const std::string& device) {
  return {.ref = {.uid = "u", .name_space = "default", .name = "c"},
          .devices = {{.allocated = {.request = "r", .pool = pool, .device = device}, .cdi = {}}},
          .consumers = {}};
}

TEST_CASE("what claims hold is known by pool, each device once") {
  const std::vector<PreparedClaim> claims{claim_of("n/a", "one"), claim_of("n/b", "one"),
                                          claim_of("n/a", "two"), claim_of("n/a", "one")};
  const auto held = held_devices(claims);
  REQUIRE(held.size() == 2);
  CHECK(held.at("n/a") == DeviceNames{"one", "two"});
  CHECK(held.at("n/b") == DeviceNames{"one"});
}

TEST_CASE("a pool has what claims hold of it, tainted, where no entry offers it any more") {
  Pool pool{.name = "n/a", .devices = {{.name = "one"}}, .counters = {}};
  add_held(pool, {"one", "two"}, {});
  REQUIRE(pool.devices.size() == 2);
  CHECK(pool.devices[0].taints.empty());
  CHECK(pool.devices[1].name == "two");
  REQUIRE(pool.devices[1].taints.size() == 1);
  CHECK(pool.devices[1].taints[0] == DeviceTaint{.key = std::string(kUnhealthyTaint),
                                                 .value = "gone",
                                                 .effect = TaintEffect::kNoSchedule});
  CHECK(pool.devices[1].attributes.empty());
}

TEST_CASE("where the API server keeps no taints a claim is all that keeps others from it") {
  Pool pool{.name = "n/a", .devices = {}, .counters = {}};
  add_held(pool, {"two"}, {.taints = false});
  REQUIRE(pool.devices.size() == 1);
  CHECK(pool.devices[0].taints.empty());
}

}  // namespace
}  // namespace plughost
