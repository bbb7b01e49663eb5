#include "plugin/served_resource.hpp"

namespace plughost {

InventoryFeed::InventoryFeed(Offer first) : newest_{std::make_shared<const Offer>(std::move(first)), 1} {}

void InventoryFeed::publish(Offer offer) {
  auto next = std::make_shared<const Offer>(std::move(offer));
  // Nobody else publishes: what is compared here is what will be replaced.
  const bool same_list = newest().offer->inventory.lists_same_as(next->inventory);
  {
    const std::lock_guard lock(mutex_);
    newest_.offer.swap(next);  // the former one is destroyed after the lock
    if (same_list) return;
    ++newest_.list;
  }
  readers_.tell();
}

InventoryFeed::Newest InventoryFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace plughost
