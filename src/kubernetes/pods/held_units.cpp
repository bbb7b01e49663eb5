#include "kubernetes/pods/held_units.hpp"

#include <map>
#include <utility>

namespace plughost {
namespace {

// Hands out the ids of a resource that nobody holds yet, each once. It looks at each id of the inventory at
// most twice, however many it hands out.
class FreeIds {
 public:
  using Ids = std::map<std::string, std::shared_ptr<const Holder>, std::less<>>;

  FreeIds(const Inventory& inventory, const Ids& taken) : inventory_(inventory), taken_(taken) {}

  // Returns the first free id of the device, or else of any; empty: there is none.
  std::string take(const Device& device) {
    for (unsigned& n = next_[&device]; n < device.replicas;) {
      std::string id = replica_id(device, n++);
      if (!taken_.contains(id)) return id;
    }
    for (; any_ < inventory_.devices().size(); ++any_) {
      const Device& other = inventory_.devices()[any_];
      for (unsigned& n = next_[&other]; n < other.replicas;) {
        std::string id = replica_id(other, n++);
        if (!taken_.contains(id)) return id;
      }
    }
    return {};
  }

 private:
  const Inventory& inventory_;
  const Ids& taken_;
  std::map<const Device*, unsigned> next_;  // the replica to look at
  std::size_t any_ = 0;                     // of the devices before it no id is free
};

}  // namespace

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource) {
  std::vector<HeldUnits> held;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource != resource) continue;
    held.push_back({.pod_uid = some.pod_uid, .container = some.container, .ids = some.set});
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
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) devices.insert(late_device(some.set));
  return devices;
}

HoldersOfIds by_card(const HoldersOfIds& holders, const Inventory& inventory,
                     const std::function<const Device*(const Holder& holder)>& card) {
  FreeIds::Ids taken;
  FreeIds free(inventory, taken);
  // The card of a container with 48,000 ids is looked for once.
  std::map<Holder, const Device*> cards;
  std::vector<HoldersOfIds::Held> others;
  for (const HoldersOfIds::Held& held : holders) {
    const auto known = cards.find(*held.holder);
    const Device* const device =
        known == cards.end() ? cards[*held.holder] = card(*held.holder) : known->second;
    const std::string id = device ? free.take(*device) : "";
    if (id.empty())
      others.push_back(held);
    else
      taken.emplace(id, held.holder);
  }
  for (const HoldersOfIds::Held& held : others) {
    const Device* const device = taken.contains(held.id) ? inventory.find(held.id) : nullptr;
    const std::string id = device ? free.take(*device) : std::string(held.id);
    if (!id.empty()) taken.emplace(id, held.holder);
  }
  std::vector<HoldersOfIds::Held> all;
  for (const auto& [id, holder] : taken) all.push_back({.id = id, .holder = holder});
  return HoldersOfIds(std::move(all));
}

HoldersOfIds by_name(const HoldersOfIds& holders,
                     const std::function<Holder(const Holder& holder)>& known_as) {
  std::map<Holder, std::shared_ptr<const Holder>> known;
  std::vector<HoldersOfIds::Held> all;
  for (const HoldersOfIds::Held& held : holders) {
    std::shared_ptr<const Holder>& name = known[*held.holder];
    if (!name) name = std::make_shared<const Holder>(known_as(*held.holder));
    all.push_back({.id = held.id, .holder = name});
  }
  return HoldersOfIds(std::move(all));
}

}  // namespace plughost
