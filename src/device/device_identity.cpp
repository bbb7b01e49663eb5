#include "device/device_identity.hpp"

#include <algorithm>

namespace plughost {

DeviceIdentity identity_of(const Device& device) {
  const auto value = [&](const char* name) {
    const std::string* const attribute = device.attribute(name);
    return attribute ? *attribute : std::string();
  };
  DeviceIdentity identity{.uuid = value("uuid"), .card = value("card"), .pci = value("pci"), .places = {}};
  for (const DeviceNode& node : device.nodes) identity.places.insert(node.host_path);
  if (std::string path = value("path"); identity.places.empty() && path.starts_with('/'))
    identity.places.insert(std::move(path));
  return identity;
}

bool is_same_device(const DeviceIdentity& one, const DeviceIdentity& other) {
  if (!one.uuid.empty() && !other.uuid.empty()) return one.uuid == other.uuid;
  // Cards of one driver share a node beside their own.
  if (!one.places.empty() && !other.places.empty())
    return std::ranges::includes(one.places, other.places) || std::ranges::includes(other.places, one.places);
  return !one.pci.empty() && one.pci == other.pci && one.places.empty() && other.places.empty();
}

bool overlap(const DeviceIdentity& one, const DeviceIdentity& other) {
  const auto is_part = [](const DeviceIdentity& part, const DeviceIdentity& whole) {
    return !part.card.empty() && part.card == whole.uuid;
  };
  return is_same_device(one, other) || is_part(one, other) || is_part(other, one);
}

}  // namespace plughost
