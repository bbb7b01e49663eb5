#include "kubelet/inventory_feed.hpp"

#include <algorithm>

namespace plughost {

InventoryFeed::InventoryFeed(Offer first) : newest_{std::make_shared<const Offer>(std::move(first)), 1} {}

bool InventoryFeed::publish(Offer offer) {
  auto next = std::make_shared<const Offer>(std::move(offer));
  // Nobody else publishes: what is compared here is what will be replaced.
  const bool same_list = newest().offer->inventory.lists_same_as(next->inventory);
  std::vector<std::shared_ptr<FeedReader>> readers;
  {
    const std::lock_guard lock(mutex_);
    newest_.offer.swap(next);  // the former one is destroyed after the lock
    if (same_list) return false;
    ++newest_.list;
    readers = readers_;
  }
  for (const auto& reader : readers) reader->on_new_list();
  return true;
}

InventoryFeed::Newest InventoryFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void InventoryFeed::subscribe(std::shared_ptr<FeedReader> reader) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      readers_.push_back(std::move(reader));
      return;
    }
  }
  reader->on_closed();
}

void InventoryFeed::unsubscribe(const FeedReader* reader) {
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [&](const auto& other) { return other.get() == reader; });
}

void InventoryFeed::close() {
  std::vector<std::shared_ptr<FeedReader>> readers;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    readers.swap(readers_);
  }
  for (const auto& reader : readers) reader->on_closed();
}

}  // namespace plughost
