#pragma once
// Accessors for the results of a scan. Thread-safe.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"

namespace plughost::test {

// Returns the paths of the device's nodes. Checks that the paths are the same in a container.
inline std::vector<std::string> nodes_of(const Device& device) {
  std::vector<std::string> paths;
  for (const DeviceNode& node : device.nodes) {
    CHECK(node.host_path == node.container_path);
    paths.push_back(node.host_path);
  }
  return paths;
}

inline std::string value(const Device& device, std::string_view attribute) {
  const std::string* const found = device.attribute(attribute);
  return found ? *found : "(none)";
}

}  // namespace plughost::test
