// Tests that all units of a container belong to one card: which units are preferred for each pattern of free
// units, and which requests are refused.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "model/allocate/allocation.hpp"
#include "model/allocate/preferred.hpp"

namespace plughost {
namespace {

using Ids = std::vector<std::string>;
using Sizes = std::vector<unsigned>;

class Cards {
 public:
  explicit Cards(const Sizes& sizes) : inventory_(made(sizes)) {
    spec_.name = Template("example.com/memory");
    spec_.units = true;
    spec_.shares = SharesOf::kOneDevice;
  }

  // Checks each policy for one pattern. `free` has one number per card, with a bit for each free unit.
  void check(const std::vector<unsigned>& free, unsigned wanted) const {
    Ids available;
    std::optional<unsigned> smallest;  // the smallest number of free units of a card that has enough
    for (std::size_t card = 0; card < free.size(); ++card) {
      const Device& device = inventory_.devices()[card];
      for (unsigned unit = 0; unit < device.replicas; ++unit) {
        const std::string share = device.replicas > 1 ? "::" + std::to_string(unit) : "";
        if ((free[card] >> unit & 1) != 0) available.push_back(device.id + share);
      }
      const auto rest = static_cast<unsigned>(std::popcount(free[card]));
      if (rest >= wanted) smallest = std::min(smallest.value_or(rest), rest);
    }
    if (available.size() < wanted) return;  // the kubelet would not request a preference
    for (const AllocationPolicy policy :
         {AllocationPolicy::kOneCard, AllocationPolicy::kPacked, AllocationPolicy::kDistributed,
          AllocationPolicy::kSpread, AllocationPolicy::kAligned}) {
      const Ids chosen =
          preferred(policy, inventory_, available, {}, wanted, {}, {.of = SharesOf::kOneDevice, .same = {}});
      const std::set<std::string> unlike(chosen.begin(), chosen.end());
      std::set<const Device*> cards;
      for (const std::string& id : chosen) cards.insert(inventory_.find(id));
      const auto answer = allocate("example.com/memory", spec_, inventory_, chosen);
      const auto* refusal = std::get_if<Refusal>(&answer);
      bool right = unlike.size() == wanted && chosen.size() == wanted &&
                   std::ranges::all_of(chosen, [&](const std::string& id) {
                     return std::ranges::find(available, id) != available.end();
                   });
      right = right && (cards.size() == 1) == smallest.has_value();
      right = right && (refusal == nullptr) == smallest.has_value();
      if (refusal) right = right && refusal->reason == Refusal::Reason::kOtherShares;
      if (right && smallest && policy == AllocationPolicy::kOneCard) {
        const std::size_t index = std::stoul((*cards.begin())->id.substr(4));
        right = static_cast<unsigned>(std::popcount(free[index])) == *smallest;
      }
      CAPTURE(available);
      CAPTURE(chosen);
      CAPTURE(static_cast<int>(policy));
      if (!right) FAIL_CHECK("not one card's, or not the one that they fit best");
    }
    ++checked;
  }

  mutable std::size_t checked = 0;

 private:
  static Inventory made(const Sizes& sizes) {
    std::vector<Device> devices(sizes.size());
    for (std::size_t card = 0; card < sizes.size(); ++card) {
      devices[card].id = "card" + std::to_string(card);
      devices[card].replicas = sizes[card];
    }
    return Inventory(std::move(devices));
  }

  Inventory inventory_;
  AllocationSpec spec_;
};

// Checks each pattern of free units of the cards from index `card` on.
void every_pattern(const Cards& cards, const Sizes& sizes, std::vector<unsigned>& free, std::size_t card) {
  if (card == sizes.size()) {
    for (unsigned wanted = 1; wanted <= 5; ++wanted) cards.check(free, wanted);
    return;
  }
  for (free[card] = 0; free[card] < 1U << sizes[card]; ++free[card])
    every_pattern(cards, sizes, free, card + 1);
}

TEST_CASE(
    "for every pattern of free units on up to three cards, all chosen units belong to one card if any card "
    "has enough") {
  std::vector<Sizes> all{{2}, {4}, {4, 2}, {4, 4}, {3, 4, 2}};
#ifndef PLUGHOST_SANITIZED  // with a sanitizer these take most of a minute
  all.push_back({4, 4, 4});
#endif
  for (const Sizes& sizes : all) {
    const Cards cards(sizes);
    std::vector<unsigned> free(sizes.size());
    every_pattern(cards, sizes, free, 0);
    CHECK(cards.checked > 0);
  }
}

TEST_CASE(
    "for random patterns on eight cards of different sizes, the chosen units belong to one card if a card "
    "has enough") {
  const Sizes sizes{16, 24, 2, 30, 8, 1, 16, 12};
  const Cards cards(sizes);
  std::mt19937 random(8);  // NOLINT(bugprone-random-generator-seed): the same patterns each time
  for (int round = 0; round < 300; ++round) {
    std::vector<unsigned> free;
    for (const unsigned size : sizes) {
      const auto bits = static_cast<unsigned>(random());
      free.push_back((round % 2 == 0 ? bits : bits & static_cast<unsigned>(random())) & ((1U << size) - 1));
    }
    cards.check(free, 1 + static_cast<unsigned>(random()) % 20);
  }
  CHECK(cards.checked > 250);
}

}  // namespace
}  // namespace plughost
