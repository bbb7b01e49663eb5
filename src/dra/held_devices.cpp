#include "dra/held_devices.hpp"

#include <utility>

namespace plughost {

std::map<std::string, DeviceNames> held_devices(std::span<const PreparedClaim> claims) {
  std::map<std::string, DeviceNames> held;
  for (const PreparedClaim& claim : claims) {
    for (const ClaimedDevice& device : claim.devices)
      held[device.allocated.pool].insert(device.allocated.device);
  }
  return held;
}

void add_held(Pool& pool, const DeviceNames& held, const DraFeatures& features) {
  DeviceNames missing = held;
  for (const PoolDevice& device : pool.devices) missing.erase(device.name);
  for (const std::string& name : missing) {
    PoolDevice& device = pool.devices.edit().emplace_back(PoolDevice{.name = name});
    if (features.taints)
      device.taints.push_back(
          {.key = std::string(kUnhealthyTaint), .value = "gone", .effect = TaintEffect::kNoSchedule});
  }
}

}  // namespace plughost
