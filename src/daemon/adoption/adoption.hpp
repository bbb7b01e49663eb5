#pragma once
// Finds the devices that containers hold by ids that their resource does not list: ids of another plugin that
// served the resource before, or plughost's own from before a reload. Pure functions of values, thread-safe.
//
// The kubelet remembers ids, and a device may be held by an id that is not listed any more: after a
// migration, or a reload that changes `id`. Listing such a device as free would allocate it twice; reserving
// too much costs a device. An id is matched only by certain evidence: the device nodes, mounts and CDI names
// of the kubelet's checkpoint, the resource's own ids before a reload, and X for X::n. Matching by similar
// ids was built and removed: it could reserve a device that is free. An unmatched id causes a warning with
// the pod.

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/adoption/given_nodes.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/assembly.hpp"
#include "model/device/duplicate_serials.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// An id that its resource does not list, and the container that holds it.
struct FormerId {
  std::string id;
  std::string pod_uid;
  std::string container;

  auto operator<=>(const FormerId&) const = default;
};

// Shared because a pod can hold 48,000 ids and each scan receives them. nullptr if there are no ids.
using IdsPointer = std::shared_ptr<const IdList>;
// Returns the union; if one of the lists has all ids, returns the pointer to that list.
IdsPointer united(const IdsPointer& some, const IdsPointer& others);

// The known facts about the ids that containers hold. The maps are keyed by resource.
struct HeldIds {
  std::shared_ptr<const Checkpoint> checkpoint;          // nullptr: none
  std::map<std::string, IdsPointer> own;                 // ids that were listed
  std::map<std::string, std::set<std::string>> adopted;  // adopted ids
  // The lists of former configurations, newest first.
  std::vector<std::map<std::string, Inventory>> before_reload = {};
  // True until the first scan after a reload has ended. Until then, an unlisted id of the newest former list
  // may belong to a present device; afterwards, such an id belongs to a removed device.
  bool reloaded = false;
};

// A share that a container holds, although the nodes given to the container no longer belong to the device.
struct Stale {
  FormerId holder;
  unsigned share = 0;
  std::vector<std::string> given;
  std::string now;  // a node of the device that the container does not have; empty if there is none
  std::vector<std::string> units;  // other devices' hardware to which the given nodes lead
};

// The result of a scan for one resource.
struct Adoption {
  // The holders by the device's id. Each element holds one share of the device.
  std::map<std::string, std::vector<FormerId>> devices;
  // The numbers of the shares that are held by listed ids, by the device's id; sorted and unique.
  std::map<std::string, std::vector<unsigned>> used;
  // The stale shares by the device's id.
  std::map<std::string, std::vector<Stale>> stale;
  // Ids of the checkpoint that the resource itself lists, or has listed at an earlier scan.
  IdsPointer own;
  // Holders whose device was not recognised.
  std::vector<FormerId> strangers;
};

// Returns the evidence (see WasGiven) that the checkpoint's container with this id was given a node of the
// device. An answer without nodes, as with CDI, is evidence only if `id` is the device's id by place.
GivenBy was_given(const Checkpoint& checkpoint, const std::string& resource, const std::string& id,
                  const Device& device, const Paths& paths);

// Returns the adoptions by resource. `spec` belongs to the resource's first entry. `resources` are the
// devices from assemble() or join(). `listed` are the previous lists, including devices that are gone. A
// device is recognised by a node, a mount or a CDI name that the container has and no other device of the
// resource has; after a reload, also by equal nodes, mounts, environment and attributes. A device that a
// container holds by a listed id cannot belong to another container: the kubelet has allocated it since.
std::map<std::string, Adoption> adopt(const AllocationSpec& spec, const DevicesOf& resources,
                                      const std::map<std::string, Inventory>& listed, const HeldIds& held,
                                      const Paths& paths);

}  // namespace plughost
