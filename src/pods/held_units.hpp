#pragma once
// Who holds a resource's units, in the kubelet's checkpoint. Pure functions of values, thread-safe.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assume/asking_pod.hpp"
#include "assume/late.hpp"
#include "kubelet/checkpoint.hpp"

namespace plughost {

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource);
AnsweredContainers containers_of(const std::vector<HeldUnits>& held);
// What the container was answered for these ids; nullptr: it is not known.
const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder);
// The late devices of every resource that somebody holds.
std::set<std::string> late_devices(const Checkpoint& checkpoint);

}  // namespace plughost
