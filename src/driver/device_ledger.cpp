#include "driver/device_ledger.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "device/cdi.hpp"
#include "device/device_identity.hpp"
#include "device/inventory.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostPods = 3;
// What so many devices have says of none which one it is.
constexpr std::size_t kMostOfOneMark = 64;

// What two that are the same device, or a part of the other, may have in common.
std::vector<std::string> marks_of(const DeviceIdentity& identity) {
  std::vector<std::string> marks(identity.places.begin(), identity.places.end());
  if (!identity.uuid.empty()) marks.push_back("uuid " + identity.uuid);
  if (!identity.card.empty()) marks.push_back("uuid " + identity.card);
  if (!identity.pci.empty()) marks.push_back("pci " + identity.pci);
  return marks;
}

// Of a device of another list.
struct Place {
  std::size_t list;
  std::size_t device;
};

}  // namespace

void OccupiedDevices::add(const std::string& resource, const std::string& device, const std::string& who) {
  by_id_[resource].try_emplace(device, who);
}

void OccupiedDevices::apply(const std::string& resource, std::vector<Device>& devices) const {
  const auto ids = by_id_.find(resource);
  if (ids == by_id_.end()) return;
  for (Device& device : devices) {
    const auto who = ids->second.find(device.id);
    if (who == ids->second.end()) continue;
    device.taken.resize(device.replicas);
    std::iota(device.taken.begin(), device.taken.end(), 0u);
    device.taken_by = device.taken_by.empty() ? who->second : who->second + "; and " + device.taken_by;
  }
}

std::string holder_text(const PreparedClaim& claim) {
  std::string text = "held by " + claim.ref.text();
  for (std::size_t i = 0; i < std::min(claim.consumers.size(), kMostPods); ++i)
    text += (i == 0 ? " (pod " : ", ") + claim.ref.name_space + '/' + claim.consumers[i].name;
  if (claim.consumers.size() > kMostPods)
    text += " and " + std::to_string(claim.consumers.size() - kMostPods) + " more";
  return claim.consumers.empty() ? text : text + ')';
}

Holdings holdings_of(std::span<const PreparedClaim* const> claims,
                     const std::map<std::string, Inventory>& lists) {
  std::map<std::string, std::vector<const PreparedClaim*>> holders;  // by CDI name
  for (const PreparedClaim* const claim : claims) {
    for (const ClaimedDevice& device : claim->devices) {
      if (!device.cdi.empty()) holders[device.cdi.front()].push_back(claim);
    }
  }
  Holdings holdings;
  if (holders.empty()) return holdings;
  for (const auto& [resource, list] : lists) {
    for (const Device& device : list.devices()) {
      const auto found = holders.find(cdi_qualified_name(resource, device.id));
      if (found == holders.end()) continue;
      unsigned n = 0;
      for (const PreparedClaim* claim : found->second) {
        if (n == device.replicas) break;
        std::string pods;
        for (const Claim::Consumer& pod : claim->consumers) pods += (pods.empty() ? "" : ",") + pod.name;
        holdings[resource].try_emplace(replica_id(device, n++),
                                       Holder{.pod_namespace = claim->ref.name_space,
                                              .pod = std::move(pods),
                                              .container = "claim " + claim->ref.name});
      }
    }
  }
  return holdings;
}

OccupiedDevices DeviceLedger::look(std::span<const List> lists, std::span<const PreparedClaim> claims,
                                   std::span<const PreparedClaim> left) {
  OccupiedDevices occupied;
  take_claimed(lists, claims, false, occupied);
  take_claimed(lists, left, true, occupied);
  if (std::ranges::none_of(lists, &List::dra)) {
    owners_.clear();
    return occupied;
  }
  std::map<std::string, std::vector<Place>> by_mark;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t n = 0; n < lists[i].devices.size(); ++n) {
      if (lists[i].devices[n].gone) continue;
      for (std::string& mark : marks_of(identity_of(lists[i].devices[n])))
        by_mark[std::move(mark)].push_back({i, n});
    }
  }
  Owners owners;
  const auto owner_beside = [&](const List& list, const Device& device) -> const List* {
    const DeviceIdentity identity = identity_of(device);
    for (const std::string& mark : marks_of(identity)) {
      const std::vector<Place>& places = by_mark[mark];
      if (places.size() > kMostOfOneMark) continue;
      for (const Place& place : places) {
        const List& its = lists[place.list];
        if (&its == &list || (!its.dra && !list.dra)) continue;
        const Device& its_device = its.devices[place.device];
        if (owners[its.resource].contains(its_device.id) && overlap(identity, identity_of(its_device)))
          return &its;
      }
    }
    return nullptr;
  };
  // First those whose they were, in the lists' order, and then the others.
  for (const bool former : {true, false}) {
    for (const List& list : lists) {
      for (const Device& device : list.devices) {
        if (device.gone || owners_[list.resource].contains(device.id) != former) continue;
        if (const List* const other = owner_beside(list, device))
          occupied.add(list.resource, device.id,
                       "it is " + other->resource + "'s (" + other->where + "), which offers it " +
                           (other->dra ? "by DRA" : "as a device plugin"));
        else
          owners[list.resource].insert(device.id);
      }
    }
  }
  owners_ = std::move(owners);
  return occupied;
}

void DeviceLedger::take_claimed(std::span<const List> lists, std::span<const PreparedClaim> claims, bool left,
                                OccupiedDevices& occupied) {
  struct Held {
    const PreparedClaim* by;
    const DeviceIdentity* identity;
  };
  std::map<std::string, Held> held;  // by the device's CDI name
  for (const PreparedClaim& claim : claims) {
    for (const ClaimedDevice& device : claim.devices) {
      if (!device.cdi.empty())
        held.try_emplace(device.cdi.front(), Held{.by = &claim, .identity = &device.identity});
    }
  }
  if (held.empty()) return;
  for (const List& list : lists) {
    for (const Device& device : list.devices) {
      const auto found = held.find(cdi_qualified_name(list.resource, device.id));
      if (found == held.end()) continue;
      if (list.dra && !left) {
        owners_[list.resource].insert(device.id);
        held.erase(found);
      } else {
        occupied.add(list.resource, device.id, holder_text(*found->second.by));
      }
    }
  }
  // No pool has it by the name that it had: one that is called otherwise now, or another list, may.
  std::erase_if(held, [](const auto& each) { return each.second.identity->none(); });
  if (held.empty()) return;
  for (const List& list : lists) {
    for (const Device& device : list.devices) {
      if (device.gone) continue;
      const DeviceIdentity identity = identity_of(device);
      const auto found = std::ranges::find_if(
          held, [&](const auto& each) { return overlap(*each.second.identity, identity); });
      if (found != held.end()) occupied.add(list.resource, device.id, holder_text(*found->second.by));
    }
  }
}

}  // namespace plughost
