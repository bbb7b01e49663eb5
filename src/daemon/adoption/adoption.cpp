#include "daemon/adoption/adoption.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text/text.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {
namespace {

// Some ids of one resource that a container holds, and the answer that the container got for them.
struct Claim {
  const Checkpoint::PodDevices* answer;
  std::vector<std::string> ids;
  bool was_ours = false;
};

using LeadsTo = decltype(Paths::leads_to);

// Returns what identifies a device independently of its id: paths and CDI names.
std::set<std::string> places_of(const Allocation& given, const LeadsTo& leads_to) {
  std::set<std::string> places(given.cdi.begin(), given.cdi.end());
  const auto add = [&](const auto& things) {
    for (const auto& thing : things) {
      places.insert(thing.host_path);
      places.insert(leads_to(thing.host_path));
    }
  };
  add(given.nodes);
  add(given.mounts);
  add(given.by_cdi.nodes);
  add(given.by_cdi.mounts);
  return places;
}

// Returns the devices by their places (see places_of()); nullptr for a place that several devices have.
std::map<std::string, const Device*> by_place(const std::string& resource, const AllocationSpec& spec,
                                              std::span<const Device> devices, const LeadsTo& leads_to) {
  std::vector<Device> well(devices.begin(), devices.end());  // answers exist for Healthy devices only
  for (Device& device : well) device.error.clear();
  const Inventory inventory(std::move(well));
  std::map<std::string, const Device*> found;
  for (const Device& device : devices) {
    for (const std::string& place :
         places_of(given_of(resource, spec, inventory, *inventory.find(replica_id(device, 0))), leads_to)) {
      const auto [at, is_new] = found.try_emplace(place, &device);
      if (!is_new) at->second = nullptr;
    }
  }
  return found;
}

bool is_same(const Device& one, const Device& other) {
  return one.nodes == other.nodes && one.mounts == other.mounts && one.env == other.env &&
         one.attributes == other.attributes;
}

// Returns the device with the same nodes, mounts, environment and attributes as `device` had before a reload;
// among equal devices, the device at the same position. nullptr if there is none.
const Device* now(std::span<const Device> devices, std::span<const Device> before, const Device& device) {
  auto place =
      std::count_if(before.data(), &device, [&](const Device& each) { return is_same(each, device); });
  const auto found = std::ranges::find_if(
      devices, [&](const Device& each) { return is_same(each, device) && place-- == 0; });
  return found == devices.end() ? nullptr : &*found;
}

// Returns the evidence in an answer that the node was given.
GivenBy given_by(const Allocation& answer, const DeviceNode& node, const Paths& paths) {
  const std::string own = paths.leads_to(node.host_path);
  GivenBy best = GivenBy::kNothing;
  for (const ContainerNode& given : answer.nodes) {
    if (given.host_path == node.host_path) return GivenBy::kPath;
    const bool is_link = given.host_path != given.container_path;
    if (is_link && given.container_path == own && node.container_path == own)
      best = GivenBy::kName;
    else if (given.host_path == own || paths.leads_to(given.host_path) == own)
      best = std::max(best, GivenBy::kLink);
  }
  return best;
}

// Returns true if `id` is the device's id or the id of one of its shares.
bool is_or_shares(const std::string& id, const std::string& of_device) {
  return id == of_device || device_behind(id) == of_device;
}

bool is_adopted(const HeldIds& held, const std::string& resource, const std::string& id) {
  const auto of_resource = held.adopted.find(resource);
  return of_resource != held.adopted.end() && of_resource->second.contains(id);
}

// A device, and the list that contains it.
struct Listed {
  const Inventory* list = nullptr;
  const Device* device = nullptr;  // nullptr: none
};

Listed find(const std::map<std::string, Inventory>& lists, const std::string& resource,
            const std::string& id) {
  const auto list = lists.find(resource);
  return list == lists.end() ? Listed() : Listed{&list->second, list->second.find(id)};
}

// Determines the adoption of one resource.
class Draft {
 public:
  Draft(const std::string& resource, std::span<const Device> devices, const HeldIds& held,
        const std::map<std::string, Inventory>& listed)
      : resource_(resource), devices_(devices), held_(held), listed_(listed) {
    if (const auto own = held.own.find(resource); own != held.own.end()) own_before_ = own->second;
  }

  // Classifies the ids of the resource that one container holds.
  void sort(const Checkpoint::PodDevices& some) {
    Claim claim{.answer = &some, .ids = {}};
    Claim listed{.answer = &some, .ids = {}};
    Claim gone{.answer = &some, .ids = {}};
    for (const auto& [numa_node, ids] : some.ids) {
      for (const std::string& id : ids) {
        const Device* const device = find_device(devices_, id);
        if (!device && adopt_resized(some, id)) {
          listed.ids.push_back(id);
          continue;
        }
        if (device) {
          adoption_.used[device->id].push_back(share_of(*device, id));
          listed.ids.push_back(id);
        }
        const bool was_ours = !device && stands_for_another(id);
        const bool was_own = own_before_ && own_before_->contains(id);
        if (device || (!was_ours && (was_own || find(listed_, resource_, id).device))) {
          own_.push_back(id);
          if (!device) gone.ids.push_back(id);
          continue;
        }
        claim.ids.push_back(id);
        claim.was_ours = claim.was_ours || was_ours;
      }
    }
    if (!claim.ids.empty()) claims_.push_back(std::move(claim));
    if (!listed.ids.empty() && some.allocation && !some.allocation->nodes.empty())
      listed_claims_.push_back(std::move(listed));
    if (!gone.ids.empty()) gone_claims_.push_back(std::move(gone));
  }

  // Adopts ids that a container holds under the resource's other name (see with_other_sharing()).
  void sort_with_other_sharing(const Checkpoint::PodDevices& some) {
    for (const auto& [numa_node, ids] : some.ids)
      for (const std::string& id : ids) adopt_resized(some, id);
  }

  Adoption finish(const AllocationSpec& spec, const Paths& paths) {
    for (auto& [device, shares] : adoption_.used) sort_unique(shares);
    find_holders(spec, paths);
    adoption_.own = united(own_before_, std::make_shared<const IdList>(std::move(own_)));
    return std::move(adoption_);
  }

 private:
  void find_holders(const AllocationSpec& spec, const Paths& paths) {
    for (const Claim& claim : listed_claims_) find_drift(claim, spec, paths);
    for (const Claim& claim : gone_claims_) find_successors(claim, spec, paths);
    if (claims_.empty()) return;
    const LeadsTo& leads_to = paths.leads_to;
    const auto places = by_place(resource_, spec, devices_, leads_to);
    for (const Claim& claim : claims_) {
      std::set<const Device*> its;
      if (claim.answer->allocation) {
        for (const std::string& place : places_of(*claim.answer->allocation, leads_to))
          if (const auto found = places.find(place); found != places.end()) its.insert(found->second);
      }
      its.erase(nullptr);
      if (its.empty() && claim.was_ours) its = those_of_before(claim);
      if (its.empty()) its = those_that_could_have(claim.ids);
      // A shared device is left out, because its hardware belongs to no single container.
      if (std::ranges::none_of(its, [](const Device* device) { return device->replicas > 1; }))
        find_successors(claim, spec, paths);
      if (!its.empty())
        give(claim, its);
      else if (claim.was_ours)  // the reload has removed the device
        own_.insert(own_.end(), claim.ids.begin(), claim.ids.end());
      else
        for (const std::string& id : claim.ids) adoption_.strangers.push_back(former(claim, id));
    }
  }

  // Adopts a device that had the id with a different number of shares. Returns false if there is none.
  bool adopt_resized(const Checkpoint::PodDevices& some, const std::string& id) {
    const Device* const device = resized(id);
    if (!device) return false;
    adoption_.devices[device->id].push_back({.id = id, .pod_uid = some.pod_uid, .container = some.container});
    return true;
  }

  // Returns the device that had the id with a different number of shares; nullptr if there is none.
  const Device* resized(const std::string& id) const {
    const Device* const device = device_of_id(devices_, id);
    return device ? device : device_of_id(devices_, device_behind(id));
  }

  static FormerId former(const Claim& claim, const std::string& id) {
    return {.id = id, .pod_uid = claim.answer->pod_uid, .container = claim.answer->container};
  }

  void find_drift(const Claim& claim, const AllocationSpec& spec, const Paths& paths) {
    std::vector<const Device*> devices;
    for (const std::string& id : claim.ids) {
      const Device* const device = find_device(devices_, id);
      devices.push_back(device ? device : resized(id));
    }
    const Drift drift = drift_of(resource_, spec, *claim.answer->allocation, devices, paths);
    // An `allocate` program may have added nodes that every container gets.
    const auto by_program = [&](const Device* device) {
      return terms_of(*device, spec).allocate.has_value();
    };
    if (drift.lost.empty() || (drift.moved.empty() && std::ranges::any_of(devices, by_program))) return;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Device& device = *devices[i];
      const auto moved = drift.moved.find(device.id);
      Stale stale{.holder = former(claim, claim.ids[i]), .given = drift.lost, .units = drift.units};
      // An id from the other sharing is already reported as adopted.
      if (moved != drift.moved.end() && find_device(devices_, claim.ids[i])) {
        stale.share = share_of(device, claim.ids[i]);
        stale.now = moved->second;
      }
      adoption_.stale[device.id].push_back(std::move(stale));
    }
  }

  // Finds the hardware of other devices to which a container's paths may lead, now that its device is gone.
  // Ignores paths that every device of the entry brings.
  void find_successors(const Claim& claim, const AllocationSpec& spec, const Paths& paths) {
    if (!claim.answer->allocation) return;
    std::set<const AllocationSpec*> terms;
    for (const std::string& id : claim.ids) {
      const Device* const before = find(listed_, resource_, id).device;
      terms.insert(before ? &terms_of(*before, spec) : &spec);
    }
    if (std::ranges::any_of(terms, [](const AllocationSpec* its) { return its->allocate.has_value(); }))
      return;
    const auto is_common = [&](const std::string& path) {
      return std::ranges::any_of(terms, [&](const AllocationSpec* its) {
        return std::ranges::any_of(its->nodes, [&](const NodeSpec& node) {
          return node.host_path.literal() && node.host_path.text() == path;
        });
      });
    };
    std::vector<std::string> given, units;
    for (const ContainerNode& node : claim.answer->allocation->nodes) {
      if (is_common(node.host_path)) continue;
      const auto unit = paths.unit_of(node.host_path);
      if (!unit || unit->empty()) continue;
      given.push_back(node.host_path);
      units.push_back(*unit);
    }
    if (units.empty()) return;
    for (const std::string& id : claim.ids)
      adoption_.stale[std::string(device_behind(id))].push_back(
          {.holder = former(claim, id), .given = given, .now = {}, .units = units});
  }

  // Returns true if the id is adopted, or was listed before the latest reload.
  bool stands_for_another(const std::string& id) const {
    if (is_adopted(held_, resource_, id)) return true;
    if (!held_.reloaded) return false;
    const Device* const before = find(held_.before_reload.front(), resource_, id).device;
    return before && !before->gone;
  }

  Listed before_reload(const std::string& id) const {
    for (const auto& lists : held_.before_reload)
      if (const Listed found = find(lists, resource_, id); found.device && !found.device->gone) return found;
    return {};
  }

  std::set<const Device*> those_of_before(const Claim& claim) const {
    std::set<const Device*> found;
    for (const std::string& id : claim.ids) {
      const Listed before = before_reload(id);
      if (before.device) found.insert(now(devices_, before.list->devices(), *before.device));
    }
    found.erase(nullptr);
    return found;
  }

  // Returns all devices that the ids may mean, so that none of them is allocated to others.
  std::set<const Device*> those_that_could_have(const std::vector<std::string>& ids) const {
    std::set<const Device*> found;
    for (const Device& device : devices_) {
      const Hardware::Ids& its = device.hardware->ids;
      if (its.by_place.empty()) continue;
      const bool could = std::ranges::any_of(ids, [&](const std::string& id) {
        return is_or_shares(id, its.by_name) || is_or_shares(id, its.by_place);
      });
      if (could) found.insert(&device);
    }
    return found;
  }

  // Assigns the ids so that each device is held by at least one id, and each id holds a device.
  void give(const Claim& claim, std::set<const Device*> devices) {
    std::erase_if(devices, [&](const Device* device) {
      const auto used = adoption_.used.find(device->id);
      return used != adoption_.used.end() && used->second.size() >= device->replicas;
    });
    const std::vector<const Device*> held(devices.begin(), devices.end());
    if (held.empty()) return;
    for (std::size_t n = 0; n < std::max(claim.ids.size(), held.size()); ++n)
      adoption_.devices[held[n % held.size()]->id].push_back(former(claim, claim.ids[n % claim.ids.size()]));
  }

  const std::string& resource_;
  std::span<const Device> devices_;
  const HeldIds& held_;
  const std::map<std::string, Inventory>& listed_;
  std::vector<Claim> claims_;
  std::vector<Claim> listed_claims_;  // claims with listed ids, and with nodes in the answer
  std::vector<Claim> gone_claims_;    // claims with ids that were listed earlier
  IdsPointer own_before_;
  std::vector<std::string_view> own_;  // the resource's own ids in the checkpoint
  Adoption adoption_;
};

}  // namespace

IdsPointer united(const IdsPointer& some, const IdsPointer& others) {
  if (some == others || !others) return some;
  if (!some || std::ranges::includes(*others, *some)) return others;
  if (std::ranges::includes(*some, *others)) return some;
  std::vector<std::string_view> both(some->begin(), some->end());
  both.insert(both.end(), others->begin(), others->end());
  return std::make_shared<const IdList>(std::move(both));
}

GivenBy was_given(const Checkpoint& checkpoint, const std::string& resource, const std::string& id,
                  const Device& device, const Paths& paths) {
  const auto is_id = [&](const std::string& given) { return is_or_shares(given, id); };
  GivenBy best = GivenBy::kNothing;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource != resource || !some.allocation) continue;
    const bool has_it = std::ranges::any_of(
        some.ids, [&](const auto& item) { return std::ranges::any_of(item.second, is_id); });
    if (!has_it) continue;
    if (some.allocation->nodes.empty() && id == device.hardware->ids.by_place) best = GivenBy::kPath;
    for (const DeviceNode& node : device.nodes)
      best = std::max(best, given_by(*some.allocation, node, paths));
  }
  return best;
}

std::map<std::string, Adoption> adopt(const AllocationSpec& spec, const DevicesOf& resources,
                                      const std::map<std::string, Inventory>& listed, const HeldIds& held,
                                      const Paths& paths) {
  std::map<std::string, Adoption> adoptions;
  if (!held.checkpoint) return adoptions;
  std::map<std::string, Draft> drafts;
  for (const Checkpoint::PodDevices& some : held.checkpoint->pod_devices) {
    const auto draft_of = [&](const std::string& name) -> Draft* {
      const auto resource = resources.find(name);
      if (resource == resources.end()) return nullptr;
      return &drafts.try_emplace(name, resource->first, resource->second, held, listed).first->second;
    };
    if (Draft* const draft = draft_of(some.resource)) draft->sort(some);
    if (Draft* const draft = draft_of(with_other_sharing(some.resource)))
      draft->sort_with_other_sharing(some);
  }
  for (auto& [resource, draft] : drafts) adoptions[resource] = draft.finish(spec, paths);
  return adoptions;
}

}  // namespace plughost
