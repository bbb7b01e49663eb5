#include <doctest/doctest.h>

#include <functional>

#include "model/device/allocation_spec.hpp"

namespace plughost {
namespace {

// Applies `change` to one of two equal specs, and returns the setting in which they then disagree; empty:
// none.
std::string_view changed(const std::function<void(AllocationSpec&)>& change) {
  const AllocationSpec one;
  AllocationSpec other;
  change(other);
  CHECK(disagreement(one, other) == disagreement(other, one));
  return disagreement(one, other);
}

TEST_CASE("settings of a whole resource must be equal in its entries") {
  CHECK(changed([](AllocationSpec&) {}).empty());
  CHECK(changed([](AllocationSpec& spec) { spec.rename_shared = true; }) == "renameByDefault");
  CHECK(changed([](AllocationSpec& spec) { spec.one_share_only = true; }) == "failRequestsGreaterThanOne");
  CHECK(changed([](AllocationSpec& spec) { spec.policy = AllocationPolicy::kPacked; }) == "allocationPolicy");
  CHECK(changed([](AllocationSpec& spec) { spec.near = "x.com/b"; }) == "near");
  CHECK(changed([](AllocationSpec& spec) { spec.same_card = true; }) == "sameCard");
  CHECK(changed([](AllocationSpec& spec) { spec.shares = SharesOf::kOneDevice; }) == "shares");
  CHECK(changed([](AllocationSpec& spec) { spec.units = true; }) == "unit");
  CHECK(changed([](AllocationSpec& spec) { spec.empty_at_stop = true; }) == "emptyAtStop");
  CHECK(changed([](AllocationSpec& spec) { spec.required = true; }) == "required");
  CHECK(changed([](AllocationSpec& spec) { spec.forget_after = std::chrono::seconds(1); }) == "forgetAfter");
  CHECK(changed([](AllocationSpec& spec) { spec.pre_start.emplace(); }) == "preStart");
}

TEST_CASE("a resource with `assume` must have only one entry") {
  AllocationSpec one;
  one.assume.emplace();
  const AllocationSpec other = one;
  CHECK(disagreement(one, other) == "assume");
}

TEST_CASE("settings of a device may differ") {
  CHECK(changed([](AllocationSpec& spec) {
          spec.id = Template("a");
          spec.replicas = 2;
          spec.env.emplace_back(Template("A"), Template("b"));
          spec.cdi = CdiNames::kCri;
          spec.allocate.emplace();
          spec.when_unhealthy.emplace();
        }).empty());
}

}  // namespace
}  // namespace plughost
