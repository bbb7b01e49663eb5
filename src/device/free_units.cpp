#include "device/free_units.hpp"

#include <unordered_map>
#include <utility>

#include "device/same_card.hpp"

namespace plughost {

void FreeUnits::note(std::string resource, std::string cards, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  resource_ = std::move(resource);
  cards_ = std::move(cards);
  when_ = now;
}

std::string FreeUnits::just_now(const std::string& resource, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return resource == resource_ && now <= when_ + kSameContainer ? cards_ : "";
}

std::string free_units(const Inventory& inventory, std::span<const std::string> free) {
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
