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

// The first id of the device, or else of any, that nobody holds; empty: there is none.
std::string free_id(const HoldersOfIds& held, const Device& device, const Inventory& inventory) {
  for (unsigned n = 0; n < device.replicas; ++n) {
    std::string id = replica_id(device, n);
    if (!held.contains(id)) return id;
  }
  std::string free;
  inventory.for_each_id([&](const std::string& id, const Device&) {
    if (free.empty() && !held.contains(id)) free = id;
  });
  return free;
}

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
  std::vector<std::pair<std::string, Holder>> unknown;
  for (const auto& [id, holder] : found->second) {
    const Device* const device = card(holder);
    const std::string its = device ? free_id(by_cards, *device, inventory) : "";
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
    const std::string other = device ? free_id(by_cards, *device, inventory) : "";
    if (!other.empty()) by_cards.emplace(other, holder);
  }
  found->second = std::move(by_cards);
  return holdings;
}

Holdings by_name(Holdings holdings, const std::string& resource,
                 const std::function<Holder(const Holder& holder)>& known_as) {
  const auto found = holdings.find(resource);
  if (found == holdings.end()) return holdings;
  for (auto& [id, holder] : found->second) holder = known_as(holder);
  return holdings;
}

}  // namespace plughost
