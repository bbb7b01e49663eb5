#pragma once
// Which devices of a resource containers hold by ids that it does not list: those of another plugin that had
// the resource's name before, or its own of before a reload. Pure functions of values, thread-safe.

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

// Shared, as a pod can hold 48,000 ids, and each scan gets them. nullptr: none.
using IdsPointer = std::shared_ptr<const IdList>;
// Returns the ids of both: one of the two pointers, if that has the other's ids.
IdsPointer united(const IdsPointer& some, const IdsPointer& others);

// What is known of the ids that containers hold. By resource.
struct HeldIds {
  std::shared_ptr<const Checkpoint> checkpoint;          // nullptr: nothing
  std::map<std::string, IdsPointer> own;                 // that were listed
  std::map<std::string, std::set<std::string>> adopted;  // that are adopted already
  // What was listed by configurations before this one, the newest first.
  std::vector<std::map<std::string, Inventory>> before_reload = {};
  // No scan has ended since the reload: an id of the newest of these that is not listed any more may be a
  // device that is still there. Later it is one that was pulled out.
  bool reloaded = false;
};

// A share of a device that a container holds by its id. It was given nodes that are not the device's by now.
struct Stale {
  FormerId holder;
  unsigned share = 0;
  std::vector<std::string> given;
  std::string now;                 // a node of the device that it was not given; empty: it has all of them
  std::vector<std::string> units;  // hardware of others to which what it was given leads
};

// The conclusion of a scan, for one resource.
struct Adoption {
  // By the device's id. Each one stands for a share of the device, which somebody has.
  std::map<std::string, std::vector<FormerId>> devices;
  // The shares that containers hold by the ids with which they are listed, sorted, each once. By the device's
  // id.
  std::map<std::string, std::vector<unsigned>> used;
  // By the device's id.
  std::map<std::string, std::vector<Stale>> stale;
  // Ids of the checkpoint that the resource lists, or has listed, now or at an earlier scan, and that are
  // nobody's but its own.
  IdsPointer own;
  // No device of the resource is recognised in what the container was given.
  std::vector<FormerId> strangers;
};

// See WasGiven: the kubelet has written down that a container has the id, and its answer leads to a node of
// the device. An answer without nodes, which CDI makes possible, tells only of an id by place.
GivenBy was_given(const Checkpoint& checkpoint, const std::string& resource, const std::string& id,
                  const Device& device, const Paths& paths);

// spec: what the first of the resource's entries says. resources: the devices of each, which assemble() or
// join() made. listed: before them, with those that are gone. A device is recognised by a node, a mount or a
// CDI name that the container has and no other device of the resource; one of before a reload by what its
// kind knows of it, too. A device that a container holds by the id with which it is listed is nobody else's:
// the kubelet has given it since.
std::map<std::string, Adoption> adopt(const AllocationSpec& spec, const DevicesOf& resources,
                                      const std::map<std::string, Inventory>& listed, const HeldIds& held,
                                      const Paths& paths);

}  // namespace plughost
