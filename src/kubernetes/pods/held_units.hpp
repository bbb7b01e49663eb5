#pragma once
// Who holds a resource's units, in the kubelet's checkpoint, and which card, where the kubelet's ids do not
// say it. Pure functions of values, thread-safe.

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/assume/holders.hpp"
#include "model/assume/pod.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource);
AnsweredContainers containers_of(const std::vector<HeldUnits>& held);
// What the container was answered for these ids; nullptr: it is not known.
const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder);
// The late devices of every resource that somebody holds.
std::set<std::string> late_devices(const Checkpoint& checkpoint);

// Returns the same holders of a resource, each with as many ids, but of the card that card() returns.
// nullptr, for an unknown card, leaves the ids as they are, as far as no other holder has them by then.
HoldersOfIds by_card(const HoldersOfIds& holders, const Inventory& inventory,
                     const std::function<const Device*(const Holder& holder)>& card);

// Returns the same holders of a resource, each under the name that known_as() returns.
HoldersOfIds by_name(const HoldersOfIds& holders,
                     const std::function<Holder(const Holder& holder)>& known_as);

}  // namespace plughost
