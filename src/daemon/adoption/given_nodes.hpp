#pragma once
// Compares the nodes that a container was given with its devices' present nodes: the kubelet restarts a
// container with the stored answer, and so with the former nodes. Pure functions of values, thread-safe.

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

// Functions that resolve paths on this machine.
struct Paths {
  // Returns the path to which the links at `path` lead; `path` itself if that is unknown.
  std::function<std::string(const std::string& path)> leads_to;
  // See unit_of() of host/hardware/device_nodes.hpp.
  std::function<std::optional<std::string>(const std::string& path)> unit_of;
};

struct Drift {
  std::vector<std::string> lost;   // given nodes that no longer belong to the container's devices
  std::vector<std::string> units;  // other hardware to which the lost nodes lead
  std::map<std::string, std::string>
      moved;  // by the device's id: a node of the device that the container was not given
};

// `given` is the answer that the kubelet has stored. `devices` are the resource's devices that the container
// holds. An answer without nodes cannot drift, because CDI names are resolved when the container starts.
Drift drift_of(const std::string& resource, const AllocationSpec& spec, const Allocation& given,
               std::span<const Device* const> devices, const Paths& paths);

// Returns true if `now` has different nodes than `before`, in any order, or different hardware.
bool is_elsewhere(const Device& before, const Device& now);

// Returns the allocation that a container with the device gets.
Allocation given_of(const std::string& resource, const AllocationSpec& spec, const Inventory& inventory,
                    const Device& device);

}  // namespace plughost
