#pragma once
// Devices that say the same of themselves, as cheap adapters do that all have the serial number 0001: which
// of its two ids each goes by. Pure functions of values, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "model/device/device.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// What says that a container was given the device under the id, the weakest first.
enum class GivenBy {
  kNothing,
  kLink,  // a path that leads to one of its nodes now: of duplicates the newest has the link by id
  kName,  // the node had the name in the container that one of the device's has on the machine
  kPath,  // one of its own paths, or its place
};
// As far as the kubelet has written down.
using WasGiven =
    std::function<GivenBy(const std::string& resource, const std::string& id, const Device& device)>;

// Of one resource: devices with the ids that they have by name. Those that go by their place then have that
// id. What is listed keeps its id for as long as it stays where it is; else what was given decides; of what
// is new, only what has no duplicate goes by its name. listed: those before, with those that are gone.
void resolve_duplicate_serials(const std::string& resource, std::vector<Device>& devices,
                               const Inventory& listed, const WasGiven& was_given);

}  // namespace plughost
