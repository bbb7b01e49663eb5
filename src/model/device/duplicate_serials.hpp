#pragma once
// Decides which of its two ids each device is listed by, for devices with equal identities, such as cheap
// adapters that all have the serial number 0001. Pure functions of values, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "model/device/device.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The evidence that a container was given the device under an id, weakest first.
enum class GivenBy {
  kNothing,
  kLink,  // a path that now leads to one of the device's nodes; a link by id leads to the newest duplicate
  kName,  // a node in the container had the name of one of the device's nodes on the host
  kPath,  // one of the device's own paths, or its place
};
// Returns the evidence according to the kubelet's checkpoint.
using WasGiven =
    std::function<GivenBy(const std::string& resource, const std::string& id, const Device& device)>;

// Changes the ids of one resource's devices, which are all ids by name, to ids by place where needed. A
// listed device keeps its id while it stays at its place. Otherwise the evidence decides. A new device keeps
// the id by name only if it has no duplicate. `listed` is the previous list, including devices that are gone.
void resolve_duplicate_serials(const std::string& resource, std::vector<Device>& devices,
                               const Inventory& listed, const WasGiven& was_given);

}  // namespace plughost
