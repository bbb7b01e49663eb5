#pragma once
// A resource with one device and a CDI specification. Not thread-safe.

#include <memory>
#include <string>

#include "model/allocate/resource_snapshot.hpp"

namespace plughost::test {

inline const std::string kCamera = "example.com/camera";
inline const std::string kCameraFile = "run/cdi/plughost-example.com_camera.json";

inline std::shared_ptr<const AllocationSpec> with_cdi() {
  AllocationSpec spec;
  spec.cdi = CdiNames::kCri;
  return std::make_shared<const AllocationSpec>(spec);
}

inline ResourceSnapshot snapshot_of(const std::shared_ptr<const AllocationSpec>& spec,
                                    const std::string& node, const std::string& resource = kCamera) {
  Device device;
  device.id = "a";
  device.nodes = {{.host_path = node, .container_path = "/dev/camera"}};
  ResourceSnapshot snapshot;
  snapshot.resource = resource;
  snapshot.inventory = Inventory({device});
  snapshot.spec = spec;
  return snapshot;
}

}  // namespace plughost::test
