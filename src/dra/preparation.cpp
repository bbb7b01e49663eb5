#include "dra/preparation.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "device/cdi.hpp"
#include "device/id.hpp"
#include "device/same_card.hpp"
#include "dra/device_shares.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

using Outcome = std::variant<ReadyClaim, ClaimWait, ClaimRefusal>;

std::string spoken(const Offer& offer, const Device& device) {
  return "device " + in_quotes(device.id) + " of " + offer.resource;
}

// What would be in the container twice, as a sentence; empty: nothing is, and `more` has been added.
std::string merge(CdiEdits& edits, const CdiEdits& more) {
  for (const auto& [name, value] : more.env) {
    const auto [known, added] = edits.env.try_emplace(name, value);
    if (!added && known->second != value)
      return "the environment variable " + name + " would be both " + in_quotes(known->second) + " and " +
             in_quotes(value);
  }
  const auto place_of = [](const auto& thing) { return thing.container_path; };
  for (const ContainerNode& node : more.nodes) {
    const auto known = std::ranges::find(edits.nodes, node.container_path, place_of);
    if (known == edits.nodes.end())
      edits.nodes.push_back(node);
    else if (*known != node)
      return node.container_path + " in the container would be both device " + known->host_path +
             " and device " + node.host_path;
  }
  for (const ContainerMount& mount : more.mounts) {
    const auto known = std::ranges::find(edits.mounts, mount.container_path, place_of);
    if (known == edits.mounts.end())
      edits.mounts.push_back(mount);
    else if (*known != mount)
      return mount.container_path + " in the container would be both mount " + known->host_path +
             " and mount " + mount.host_path;
  }
  const auto host_of = [](const ContainerNetDevice& interface) { return interface.host_name; };
  const auto name_of = [](const ContainerNetDevice& interface) { return interface.name; };
  for (const ContainerNetDevice& interface : more.net_devices) {
    const auto known = std::ranges::find(edits.net_devices, interface.host_name, host_of);
    const auto taken = std::ranges::find(edits.net_devices, interface.name, name_of);
    if (known == edits.net_devices.end() && taken == edits.net_devices.end())
      edits.net_devices.push_back(interface);
    else if (known == edits.net_devices.end())
      return "the network interface " + interface.name + " in the container would be both the host's " +
             taken->host_name + " and " + interface.host_name;
    else if (known->name != interface.name)
      return "the host's network interface " + interface.host_name + " would be both " + known->name +
             " and " + interface.name + " in the container";
  }
  return {};
}

CdiEdits own_edits(const Allocation& allocation) {
  return {.env = allocation.env,
          .mounts = allocation.mounts,
          .nodes = allocation.nodes,
          .net_devices = allocation.net_devices};
}

bool overlap(const Device& one, const Device& other) {
  return is_part_of(one, other) || is_part_of(other, one);
}

std::optional<AdvertisedDevice> advertised_as(const Device& device, std::string_view name) {
  if (name == device_label(device.id)) return AdvertisedDevice{.device = &device, .replica = std::nullopt};
  for (unsigned n = 0; device.replicas > 1 && n < device.replicas; ++n) {
    if (name == device_label(replica_id(device, n))) return AdvertisedDevice{.device = &device, .replica = n};
  }
  return std::nullopt;
}

// What one entry's devices of one request are together.
struct Group {
  std::shared_ptr<const Offer> offer;
  std::vector<std::string> ids;  // as for allocate()
  std::set<std::string> shown;   // devices that are given although others have them
  Allocation allocation = {};
};

class Preparation {
 public:
  Preparation(const Claim& claim, const ClaimSurroundings& around)
      : claim_(claim), around_(around), others_(around.others) {
    std::erase_if(others_, [&](const PreparedClaim* other) { return other->ref.uid == claim.ref.uid; });
  }

  Outcome run() {
    for (const AllocatedDevice& allocated : claim_.devices) take(allocated);
    if (trouble_.empty() && wait_.empty()) allocate_groups();
    if (trouble_.empty() && wait_.empty()) look_for_conflicts();
    if (!trouble_.empty()) return ClaimRefusal{std::move(trouble_)};
    if (!wait_.empty()) return ClaimWait{std::move(wait_)};
    return finish();
  }

 private:
  void refuse(const std::string& why) {
    if (trouble_.empty()) trouble_ = why;
  }
  void wait_for(const std::string& why) {
    if (wait_.empty()) wait_ = why;
  }

  void take(const AllocatedDevice& allocated) {
    const auto pool = around_.pools.find(allocated.pool);
    if (pool == around_.pools.end())
      return wait_for("pool " + in_quotes(allocated.pool) +
                      " is no entry's of the configuration that is in force on this node, or its devices are "
                      "not known yet");
    const std::shared_ptr<const Offer>& offer = pool->second;
    const auto advertised = find_advertised(offer->inventory, allocated.device);
    if (!advertised)
      return wait_for(offer->resource + " lists no device " + in_quotes(allocated.device) + " now");
    if (!offer->stall.empty()) wait_for(offer->resource + ": " + offer->stall);
    const Device& device = *advertised->device;
    if (!device.trouble.empty()) return wait_for(spoken(*offer, device) + " is Unhealthy: " + device.trouble);
    if (device.away)
      return wait_for("the network interface of " + spoken(*offer, device) +
                      " is in the container that had it, and not back on the host yet");
    const unsigned count = replicas_taken(*offer, *advertised, allocated);
    if (!allocated.admin_access && !is_free(*offer, device, allocated)) return;
    add_ids(offer, *advertised, allocated, count);
  }

  // Who has it for administration takes nothing from others.
  bool is_free(const Offer& offer, const Device& device, const AllocatedDevice& allocated) {
    DeviceShares& shares = ours_.try_emplace(&device, offer, device, others_).first->second;
    shares.add(allocated);
    if (shares.never_fits()) {
      refuse(spoken(offer, device) + " is allocated to this claim more often than it can be had");
      return false;
    }
    if (!parts_are_free(offer, device)) return false;
    const std::string trouble = shares.trouble();
    if (!trouble.empty()) wait_for(trouble);
    return trouble.empty();
  }

  // What is a part of the device, and what it is a part of, is nobody else's.
  bool parts_are_free(const Offer& offer, const Device& device) {
    if (!device.attribute("card")) return true;
    for (const auto& [other, shares] : ours_) {
      if (!overlap(device, *other)) continue;
      refuse(spoken(offer, device) + " and " + spoken(offer, *other) +
             " are allocated to this claim, and one is a part of the other");
      return false;
    }
    for (const Device& part : offer.inventory.devices()) {
      if (part.taken.empty() || part.gone || !is_part_of(part, device)) continue;
      wait_for(spoken(offer, part) + ", which is a part of " + in_quotes(device.id) +
               ", is in use: " + part.taken_by);
      return false;
    }
    for (const Device& part : offer.inventory.devices()) {
      if (!overlap(device, part)) continue;
      for (const PreparedClaim* const other : others_) {
        const auto is_of_part = [&](const ClaimedDevice& held) { return is_claimed(held, offer, part); };
        if (std::ranges::none_of(other->devices, is_of_part)) continue;
        wait_for(spoken(offer, part) + ", which has a part in common with " + in_quotes(device.id) +
                 ", is still held by " + other->ref.text() + ", which has not been given back");
        return false;
      }
    }
    return true;
  }

  void add_ids(const std::shared_ptr<const Offer>& offer, const AdvertisedDevice& advertised,
               const AllocatedDevice& allocated, unsigned count) {
    const Device& device = *advertised.device;
    Group& group = groups_[allocated.main_request()][allocated.pool];
    group.offer = offer;
    const auto can_be_had = [&](unsigned n) { return allocated.admin_access || device.healthy_share(n); };
    std::vector<std::string> ids;
    for (unsigned n = 0; n < device.replicas && ids.size() < count; ++n) {
      std::string id = replica_id(device, n);
      const bool is_new = std::ranges::find(group.ids, id) == group.ids.end();
      if (advertised.replica.value_or(n) == n && can_be_had(n) && is_new) ids.push_back(std::move(id));
    }
    if (ids.size() < count)
      return wait_for(spoken(*offer, device) + (device.taken_by.empty() ? " has no more for the claim"
                                                                        : " is in use: " + device.taken_by));
    std::ranges::move(ids, std::back_inserter(group.ids));
    if (allocated.admin_access && !device.taken.empty()) group.shown.insert(device.id);
  }

  // Where somebody is to watch devices that others have, these are given as if nobody had them.
  static Inventory inventory_of(const Group& group) {
    if (group.shown.empty()) return group.offer->inventory;
    const auto listed = group.offer->inventory.devices();
    std::vector<Device> devices(listed.begin(), listed.end());
    for (Device& device : devices) {
      if (group.shown.contains(device.id)) device.taken.clear();
    }
    return Inventory(std::move(devices));
  }

  void allocate_groups() {
    for (auto& [request, by_pool] : groups_) {
      for (auto& [pool, group] : by_pool) {
        auto allocation =
            allocate(group.offer->resource, *group.offer->recipe, inventory_of(group), group.ids);
        if (const auto* const refusal = std::get_if<Refusal>(&allocation)) return refuse(refusal->text);
        group.allocation = std::get<Allocation>(std::move(allocation));
      }
    }
  }

  // A container may have all devices of a request. It may have several requests of the claim, too, and nobody
  // says before it starts.
  void look_for_conflicts() {
    std::map<std::string, CdiEdits> of_entries;
    for (const auto& [request, by_pool] : groups_) {
      CdiEdits of_request;
      for (const auto& [pool, group] : by_pool) {
        for (const CdiEdits& edits : {group.allocation.by_cdi, own_edits(group.allocation)}) {
          if (const std::string conflict = merge(of_request, edits); !conflict.empty())
            return refuse("request " + in_quotes(request) +
                          " has devices of several entries, and with them " + conflict +
                          "; ask for them in several claims");
          if (const std::string conflict = merge(of_entries[pool], edits); !conflict.empty())
            return refuse("several requests of the claim have devices of " + group.offer->resource +
                          ", and in a container that has them all " + conflict +
                          "; ask for them in one request, with a count, or in several claims");
        }
      }
    }
  }

  // The device's own name first: by it the kubelet tells the health of devices.
  std::vector<std::string> names_of(const Offer& offer, const Device& device, unsigned count) const {
    std::vector<std::string> names{cdi_qualified_name(offer.resource, device.id)};
    auto alone = allocate_device(offer.resource, *offer.recipe, device,
                                 {.of_container = count, .total = offer.inventory.id_count()});
    if (const auto* const allocation = std::get_if<Allocation>(&alone)) {
      for (const std::string& name : allocation->cdi) {
        if (name != names.front()) names.push_back(name);
      }
    }
    return names;
  }

  Outcome finish() {
    ReadyClaim ready;
    ready.claim.ref = claim_.ref;
    ready.claim.consumers = claim_.consumers;
    for (const auto& [request, by_pool] : groups_) {
      CdiEdits edits;
      for (const auto& [pool, group] : by_pool) merge(edits, own_edits(group.allocation));
      if (!edits.empty()) ready.edits.emplace(request, std::move(edits));
    }
    for (const AllocatedDevice& allocated : claim_.devices) {
      const Offer& offer = *around_.pools.at(allocated.pool);
      const AdvertisedDevice advertised = *find_advertised(offer.inventory, allocated.device);
      std::vector<std::string> names =
          names_of(offer, *advertised.device, replicas_taken(offer, advertised, allocated));
      if (ready.edits.contains(allocated.main_request()))
        names.push_back(claim_cdi_name(around_.driver, claim_.ref.uid, allocated.main_request()));
      ready.claim.devices.push_back(
          {.allocated = allocated,
           .cdi = std::move(names),
           .pre_start = offer.recipe->pre_start.has_value(),
           .identity = allocated.admin_access ? DeviceIdentity() : identity_of(*advertised.device)});
    }
    return ready;
  }

  const Claim& claim_;
  const ClaimSurroundings& around_;
  std::map<std::string, std::map<std::string, Group>> groups_;  // by request, and there by pool
  std::vector<const PreparedClaim*> others_;
  std::map<const Device*, DeviceShares> ours_;  // that this claim has, but for admin access
  std::string trouble_;
  std::string wait_;
};

}  // namespace

std::optional<AdvertisedDevice> find_advertised(const Inventory& inventory, std::string_view name) {
  for (const Device& device : inventory.devices()) {
    if (const auto found = advertised_as(device, name)) return found;
  }
  return std::nullopt;
}

unsigned replicas_taken(const Offer& offer, const AdvertisedDevice& advertised,
                        const AllocatedDevice& allocated) {
  const Device& device = *advertised.device;
  if (advertised.replica || device.replicas == 1) return 1;
  const SharedCapacity capacity = shared_capacity(offer, device);
  const std::int64_t amount = amount_taken(offer, device, allocated);
  if (amount == capacity.size) return device.replicas;
  const std::int64_t count = amount / capacity.unit + (amount % capacity.unit > 0 ? 1 : 0);
  // One more than there are says that it does not fit.
  return static_cast<unsigned>(std::min<std::int64_t>(count, std::int64_t{device.replicas} + 1));
}

Outcome prepare_claim(const ClaimRef& asked, const Claim& claim, const ClaimSurroundings& around) {
  if (claim.ref.uid != asked.uid)
    return ClaimRefusal{"the API server has another " + asked.text() + " by now, with the UID " +
                        claim.ref.uid + " and not " + asked.uid};
  if (!claim.allocated) return ClaimRefusal{"no devices are allocated to the " + asked.text()};
  if (claim.devices.empty())
    return ClaimRefusal{"no device of the driver " + std::string(around.driver) + " is allocated to the " +
                        asked.text()};
  return Preparation(claim, around).run();
}

std::optional<CdiEdits> request_edits(const ReadyClaim& ready, std::string_view request,
                                      const OfferPools& pools) {
  CdiEdits edits;
  for (const ClaimedDevice& claimed : ready.claim.devices) {
    if (claimed.allocated.main_request() != request) continue;
    const auto pool = pools.find(claimed.allocated.pool);
    if (pool == pools.end()) return std::nullopt;
    const auto advertised = find_advertised(pool->second->inventory, claimed.allocated.device);
    if (!advertised) return std::nullopt;
    merge(edits, cdi_edits(pool->second->resource, *pool->second->recipe, *advertised->device));
  }
  if (const auto own = ready.edits.find(std::string(request)); own != ready.edits.end())
    merge(edits, own->second);
  return edits;
}

}  // namespace plughost
