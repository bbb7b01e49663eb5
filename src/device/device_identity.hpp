#pragma once
// What tells a physical device from others, whatever the resources call it that list it. Pure functions of
// values, thread-safe.

#include <cstddef>
#include <set>
#include <string>

#include "device/device.hpp"

namespace plughost {

// What is not known is empty.
struct DeviceIdentity {
  std::string uuid;
  std::string card;  // the UUID of the card that it is of
  std::string pci;   // its address
  std::set<std::string>
      places;  // its nodes; what has none may be a file that its entry brings into containers

  bool none() const { return uuid.empty() && card.empty() && pci.empty() && places.empty(); }
  bool operator==(const DeviceIdentity&) const = default;
};

DeviceIdentity identity_of(const Device& device);

// Is it one thing under two names? By what both have: a UUID, device nodes or a path, a PCI address.
bool is_same_device(const DeviceIdentity& one, const DeviceIdentity& other);
// Has who has the one something of the other? It is the same, or a part of it.
bool overlap(const DeviceIdentity& one, const DeviceIdentity& other);

}  // namespace plughost
