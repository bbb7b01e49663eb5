#include "device/same_card.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

bool all_among(std::span<const CardName> some, std::span<const CardName> others) {
  return std::ranges::all_of(some, [&](const CardName& one) {
    return std::ranges::any_of(others, [&](const CardName& other) { return same_card(one, other); });
  });
}

}  // namespace

CardName card_of(const Device& device) {
  const auto value = [&](std::string_view name) {
    const std::string* const attribute = device.attribute(name);
    return attribute ? *attribute : std::string();
  };
  CardName card{.uuid = value("uuid"), .pci = value("pci"), .index = value("index"), .id = device.id};
  if (!card.index.empty()) card.index = value("vendor") + ' ' + card.index;
  return card;
}

bool same_card(const CardName& one, const CardName& other) {
  if (!one.uuid.empty() && !other.uuid.empty()) return one.uuid == other.uuid;
  if (!one.pci.empty() && !other.pci.empty()) return one.pci == other.pci;
  return !one.index.empty() && one.index == other.index;
}

bool same_cards(std::span<const CardName> some, std::span<const CardName> others) {
  return all_among(some, others) && all_among(others, some);
}

std::string names_of(std::span<const CardName> cards) {
  std::string names;
  for (const CardName& card : cards) {
    const std::string& name = !card.uuid.empty() ? card.uuid : !card.pci.empty() ? card.pci : card.id;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

bool GivenCards::goes_on(const std::string& resource, Clock::time_point now) const {
  return !givers_.empty() && !givers_.contains(resource) && now <= last_ + kSameContainer;
}

std::vector<CardName> GivenCards::before(const std::string& resource, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return goes_on(resource, now) ? cards_ : std::vector<CardName>();
}

std::vector<CardName> GivenCards::give(const std::string& resource, const std::vector<CardName>& cards,
                                       Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!goes_on(resource, now)) {
    givers_.clear();
    cards_ = cards;
  } else if (!same_cards(cards, cards_)) {
    givers_.clear();
    return std::exchange(cards_, {});
  }
  givers_.insert(resource);
  last_ = now;
  return {};
}

std::map<std::string, std::size_t> same_card_groups(std::span<const Recipe* const> recipes) {
  std::map<std::string, std::size_t> groups;
  for (const Recipe* const recipe : recipes) {
    if (recipe->same_card) groups.emplace(recipe->name.text(), groups.size());
  }
  for (const Recipe* const recipe : recipes) {
    const auto one = recipe->same_card ? groups.find(recipe->name.text()) : groups.end();
    const auto other = groups.find(recipe->near);
    if (one == groups.end() || other == groups.end()) continue;
    const auto [kept, joined] = std::pair(one->second, other->second);
    for (auto& [name, group] : groups) {
      if (group == joined) group = kept;
    }
  }
  std::erase_if(groups, [&](const auto& item) {
    return std::ranges::count(groups, item.second, [](const auto& each) { return each.second; }) < 2;
  });
  return groups;
}

}  // namespace plughost
