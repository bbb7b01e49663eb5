#pragma once
// Devices that say the same of themselves, as cheap adapters do that all have the serial number 0001: which
// of its two ids each goes by. Pure functions of values, thread-safe.

#include <functional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/inventory.hpp"

namespace plughost {

// Was a container given the device under that id, as far as the kubelet has written down?
using WasGiven =
    std::function<bool(const std::string& resource, const std::string& id, const Device& device)>;

// Of one resource: devices with the ids that they have by name. Those that go by their place then have that
// id. What is listed keeps its id for as long as it stays where it is; else what was given decides; of what
// is new, only what has no twin goes by its name. listed: those before, with those that are gone.
void tell_twins_apart(const std::string& resource, std::vector<Device>& devices, const Inventory& listed,
                      const WasGiven& was_given);

}  // namespace plughost
