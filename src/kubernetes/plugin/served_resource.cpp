#include "kubernetes/plugin/served_resource.hpp"

namespace plughost {

InventoryFeed::InventoryFeed(ResourceSnapshot first)
    : newest_{std::make_shared<const ResourceSnapshot>(std::move(first)), 1} {}

bool InventoryFeed::publish(ResourceSnapshot snapshot) {
  auto next = std::make_shared<const ResourceSnapshot>(std::move(snapshot));
  // Nobody else publishes: what is compared here is what will be replaced.
  const bool same_list = newest().snapshot->inventory.lists_same_as(next->inventory);
  {
    const std::lock_guard lock(mutex_);
    newest_.snapshot.swap(next);  // the former one is destroyed after the lock
    if (!same_list) ++newest_.list;
  }
  return !same_list;
}

InventoryFeed::Newest InventoryFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void send_list(const std::shared_ptr<InventoryFeed>& feed, Workers& computations) {
  constexpr std::size_t kMostIdsInLoop = 1000;
  constexpr std::chrono::seconds kDeadline{10};
  if (feed->newest().snapshot->inventory.id_count() <= kMostIdsInLoop) return feed->readers().notify();
  computations.run([feed] { feed->readers().notify(); }, [] {}, kDeadline, [] {});
}

}  // namespace plughost
