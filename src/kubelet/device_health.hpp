#pragma once
// What the kubelet is told of a driver's devices beside their slices. Plain values.

#include <string>
#include <vector>

namespace plughost {

struct DeviceHealth {
  std::string device;  // as the pool calls it
  bool healthy = false;
  std::string message;  // why it is not; for the pod's status

  bool operator==(const DeviceHealth&) const = default;
};

struct PoolHealth {
  std::string pool;
  std::vector<DeviceHealth> devices;

  bool operator==(const PoolHealth&) const = default;
};

}  // namespace plughost
