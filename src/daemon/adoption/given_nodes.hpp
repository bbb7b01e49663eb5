#pragma once
// What a container was given for its devices, against what they are by now: the kubelet answers a container
// that it starts again from its checkpoint, with the nodes of then. Pure functions of values, thread-safe.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/allocate/allocation.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"

namespace plughost {

// What the machine says of a path now.
struct Paths {
  // Where its links lead; the path itself where that is not known.
  std::function<std::string(const std::string& path)> leads_to;
  // See unit_of() of host/device_nodes.hpp.
  std::function<std::optional<std::string>(const std::string& path)> unit_of;
};

struct Drift {
  std::vector<std::string> lost;   // nodes that the container was given, and that are not its devices'
  std::vector<std::string> units;  // of other hardware, to which the lost ones lead
  std::map<std::string, std::string>
      moved;  // by a device's id: a node that it has, and the container was not given
};

// given: the kubelet's answer. devices: of the resource, which the container holds. An answer without nodes
// has not drifted: CDI's names are resolved when the container starts.
Drift drift_of(const std::string& resource, const AllocationSpec& spec, const Allocation& given,
               std::span<const Device* const> devices, const Paths& paths);

// Has a device other nodes than before, or is it other hardware? In whatever order they are.
bool is_elsewhere(const Device& before, const Device& now);

// What a container gets with the device.
Allocation given_of(const std::string& resource, const AllocationSpec& spec, const Inventory& inventory,
                    const Device& device);

}  // namespace plughost
