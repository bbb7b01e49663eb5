#include "device/shares.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "device/same_card.hpp"

namespace plughost {

bool fulfils(SharesOf terms, std::size_t devices, std::size_t ids) {
  if (terms == SharesOf::kOneDevice) return devices <= 1;
  return terms == SharesOf::kAny || devices == ids;
}

bool fulfils(SharesOf terms, const Inventory& inventory, std::span<const std::string> ids) {
  std::unordered_set<const Device*> devices;
  for (const std::string& id : ids) devices.insert(inventory.find(id));
  return fulfils(terms, devices.size(), ids.size());
}

void FreeShares::note(std::string resource, std::string cards, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  resource_ = std::move(resource);
  cards_ = std::move(cards);
  when_ = now;
}

std::string FreeShares::just_now(const std::string& resource, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return resource == resource_ && now <= when_ + kSameContainer ? cards_ : "";
}

std::string free_shares(const Inventory& inventory, std::span<const std::string> free) {
  std::unordered_map<const Device*, std::size_t> counts;
  for (const std::string& id : free) ++counts[inventory.find(id)];
  std::string cards;
  for (const Device& device : inventory.devices()) {
    const auto count = counts.find(&device);
    if (count == counts.end()) continue;
    const CardName card = card_of(device);
    cards += (cards.empty() ? "" : ", ") + std::to_string(count->second) + " on " + names_of({&card, 1});
  }
  return cards;
}

}  // namespace plughost
