#include "pods/held_units.hpp"

#include <map>
#include <utility>

namespace plughost {
namespace {

std::vector<std::string> ids_of(const Checkpoint::PodDevices& some) {
  std::vector<std::string> ids;
  for (const auto& [node, on_node] : some.ids) ids.insert(ids.end(), on_node.begin(), on_node.end());
  return ids;
}

// Hands out the ids of a resource that nobody holds yet, each once. It looks at each id of the inventory at
// most twice, however many it hands out.
class FreeIds {
 public:
  FreeIds(const Inventory& inventory, const HoldersOfIds& held) : inventory_(inventory), held_(held) {}

  // Returns the first free id of the device, or else of any; empty: there is none.
  std::string take(const Device& device) {
    for (unsigned& n = next_[&device]; n < device.replicas;) {
      std::string id = replica_id(device, n++);
      if (!held_.contains(id)) return id;
    }
    for (; any_ < inventory_.devices().size(); ++any_) {
      const Device& other = inventory_.devices()[any_];
      for (unsigned& n = next_[&other]; n < other.replicas;) {
        std::string id = replica_id(other, n++);
        if (!held_.contains(id)) return id;
      }
    }
    return {};
  }

 private:
  const Inventory& inventory_;
  const HoldersOfIds& held_;
  std::map<const Device*, unsigned> next_;  // the replica to look at
  std::size_t any_ = 0;                     // of the devices before it no id is free
};

}  // namespace

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource) {
  std::vector<HeldUnits> held;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource != resource) continue;
    const std::vector<std::string> ids = ids_of(some);
    held.push_back({.pod_uid = some.pod_uid, .container = some.container, .ids = {ids.begin(), ids.end()}});
  }
  return held;
}

AnsweredContainers containers_of(const std::vector<HeldUnits>& held) {
  AnsweredContainers containers;
  for (const HeldUnits& each : held) containers.emplace(each.pod_uid, each.container);
  return containers;
}

const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder) {
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource == resource && some.pod_uid == holder.pod_uid && some.container == holder.container)
      return some.allocation ? &*some.allocation : nullptr;
  }
  return nullptr;
}

std::set<std::string> late_devices(const Checkpoint& checkpoint) {
  std::set<std::string> devices;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices)
    devices.insert(late_device(some.resource, ids_of(some)));
  return devices;
}

Holdings by_card(Holdings holdings, const std::string& resource, const Inventory& inventory,
                 const std::function<const Device*(const Holder& holder)>& card) {
  const auto found = holdings.find(resource);
  if (found == holdings.end()) return holdings;
  HoldersOfIds by_cards;
  FreeIds free(inventory, by_cards);
  // Of a container with 48,000 ids the card is looked for once.
  std::map<Holder, const Device*> cards;
  std::vector<std::pair<std::string, Holder>> unknown;
  for (const auto& [id, holder] : found->second) {
    const auto known = cards.find(holder);
    const Device* const device = known == cards.end() ? cards[holder] = card(holder) : known->second;
    const std::string its = device ? free.take(*device) : "";
    if (its.empty())
      unknown.emplace_back(id, holder);
    else
      by_cards.emplace(its, holder);
  }
  for (const auto& [id, holder] : unknown) {
    if (!by_cards.contains(id)) {
      by_cards.emplace(id, holder);
      continue;
    }
    const Device* const device = inventory.find(id);
    const std::string other = device ? free.take(*device) : "";
    if (!other.empty()) by_cards.emplace(other, holder);
  }
  found->second = std::move(by_cards);
  return holdings;
}

Holdings by_name(Holdings holdings, const std::string& resource,
                 const std::function<Holder(const Holder& holder)>& known_as) {
  const auto found = holdings.find(resource);
  if (found == holdings.end()) return holdings;
  std::map<Holder, Holder> known;
  for (auto& [id, holder] : found->second) {
    const auto its = known.find(holder);
    holder = its == known.end() ? known[holder] = known_as(holder) : its->second;
  }
  return holdings;
}

}  // namespace plughost
