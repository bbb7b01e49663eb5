#include <doctest/doctest.h>

#include <functional>

#include "model/device/recipe.hpp"

namespace plughost {
namespace {

// What two recipes disagree about, of which one is changed so.
std::string_view changed(const std::function<void(Recipe&)>& change) {
  const Recipe one;
  Recipe other;
  change(other);
  CHECK(disagreement(one, other) == disagreement(other, one));
  return disagreement(one, other);
}

TEST_CASE("what is said of a resource as a whole has to be the same in each of its entries") {
  CHECK(changed([](Recipe&) {}).empty());
  CHECK(changed([](Recipe& recipe) { recipe.rename_shared = true; }) == "renameByDefault");
  CHECK(changed([](Recipe& recipe) { recipe.one_share_only = true; }) == "failRequestsGreaterThanOne");
  CHECK(changed([](Recipe& recipe) { recipe.policy = AllocationPolicy::kPacked; }) == "allocationPolicy");
  CHECK(changed([](Recipe& recipe) { recipe.near = "x.com/b"; }) == "near");
  CHECK(changed([](Recipe& recipe) { recipe.same_card = true; }) == "sameCard");
  CHECK(changed([](Recipe& recipe) { recipe.shares = SharesOf::kOneDevice; }) == "shares");
  CHECK(changed([](Recipe& recipe) { recipe.units = true; }) == "unit");
  CHECK(changed([](Recipe& recipe) { recipe.empty_at_stop = true; }) == "emptyAtStop");
  CHECK(changed([](Recipe& recipe) { recipe.required = true; }) == "required");
  CHECK(changed([](Recipe& recipe) { recipe.forget_after = std::chrono::seconds(1); }) == "forgetAfter");
  CHECK(changed([](Recipe& recipe) { recipe.pre_start.emplace(); }) == "preStart");
}

TEST_CASE("`assume` goes with a single entry, even if both say the same") {
  Recipe one;
  one.assume.emplace();
  const Recipe other = one;
  CHECK(disagreement(one, other) == "assume");
}

TEST_CASE("what is said of a device may differ") {
  CHECK(changed([](Recipe& recipe) {
          recipe.id = Template("a");
          recipe.replicas = 2;
          recipe.env.emplace_back(Template("A"), Template("b"));
          recipe.cdi = CdiNames::kCri;
          recipe.allocate.emplace();
          recipe.when_unhealthy.emplace();
        }).empty());
}

}  // namespace
}  // namespace plughost
