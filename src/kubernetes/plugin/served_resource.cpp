#include "kubernetes/plugin/served_resource.hpp"

namespace plughost {

InventoryFeed::InventoryFeed(Offer first) : newest_{std::make_shared<const Offer>(std::move(first)), 1} {}

bool InventoryFeed::publish(Offer offer) {
  auto next = std::make_shared<const Offer>(std::move(offer));
  // Nobody else publishes: what is compared here is what will be replaced.
  const bool same_list = newest().offer->inventory.lists_same_as(next->inventory);
  {
    const std::lock_guard lock(mutex_);
    newest_.offer.swap(next);  // the former one is destroyed after the lock
    if (!same_list) ++newest_.list;
  }
  return !same_list;
}

InventoryFeed::Newest InventoryFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void tell_list(const std::shared_ptr<InventoryFeed>& feed, Workers& computations) {
  constexpr std::size_t kMostIdsInLoop = 1000;
  constexpr std::chrono::seconds kDeadline{10};
  if (feed->newest().offer->inventory.id_count() <= kMostIdsInLoop) return feed->readers().tell();
  computations.run([feed] { feed->readers().tell(); }, [] {}, kDeadline, [] {});
}

}  // namespace plughost
