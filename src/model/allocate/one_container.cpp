#include "model/allocate/one_container.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace plughost {
namespace {

bool all_among(std::span<const CardName> some, std::span<const CardName> others) {
  return std::ranges::all_of(some, [&](const CardName& one) {
    return std::ranges::any_of(others, [&](const CardName& other) { return same_card(one, other); });
  });
}

constexpr unsigned kMostOthers = 4096;

// Returns the number of leading path components in common: each is a bridge above both devices.
unsigned bridges_in_common(std::string_view one, std::string_view other) {
  unsigned common = 0;
  while (!one.empty() && !other.empty()) {
    const std::size_t end = std::min(one.find('/'), one.size());
    const std::size_t other_end = std::min(other.find('/'), other.size());
    if (one.substr(0, end) != other.substr(0, other_end)) break;
    ++common;
    one.remove_prefix(std::min(end + 1, one.size()));
    other.remove_prefix(std::min(other_end + 1, other.size()));
  }
  return common;
}

}  // namespace

CardName card_of(const Device& device) {
  const auto value = [&](std::string_view name) { return device.value(name).value_or(""); };
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

std::map<std::string, std::size_t> same_card_groups(std::span<const AllocationSpec* const> specs) {
  std::map<std::string, std::size_t> groups;
  for (const AllocationSpec* const spec : specs) {
    if (spec->same_card) groups.emplace(spec->name.text(), groups.size());
  }
  for (const AllocationSpec* const spec : specs) {
    const auto one = spec->same_card ? groups.find(spec->name.text()) : groups.end();
    const auto other = groups.find(spec->near);
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

std::vector<std::string> Neighbours::paths(LastGiven::Clock::time_point now) const {
  std::vector<std::string> near = given ? given->just_now(now) : std::vector<std::string>();
  return near.empty() ? healthy : near;
}

unsigned nearness(std::string_view path, std::span<const std::string> others) {
  unsigned nearest = 0;
  unsigned as_near = 0;
  for (const std::string& other : others) {
    const unsigned common = bridges_in_common(path, other);
    if (common > nearest) {
      nearest = common;
      as_near = 0;
    }
    if (common == nearest) ++as_near;
  }
  return nearest == 0 ? 0 : nearest * kMostOthers + std::min(as_near, kMostOthers - 1);
}

bool fulfils(SharesOf terms, std::size_t devices, std::size_t ids) {
  if (terms == SharesOf::kOneDevice) return devices <= 1;
  return terms == SharesOf::kAny || devices == ids;
}

bool fulfils(SharesOf terms, const Inventory& inventory, std::span<const std::string> ids) {
  std::unordered_set<const Device*> devices;
  for (const std::string& id : ids) devices.insert(inventory.find(id));
  return fulfils(terms, devices.size(), ids.size());
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
