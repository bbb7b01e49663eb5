#pragma once
// What a log should say of the health of a resource's devices. Pure functions of values, thread-safe.

#include <cstddef>
#include <span>
#include <string>

#include "device/device.hpp"

namespace plughost {

struct HealthChanges {
  // Devices that fared alike. However many there are, its texts are short.
  struct Group {
    std::size_t count = 0;
    std::string names;  // "a, b, c and 997 more"
    std::string why;    // the first device's trouble; "…, and others" where they differ
  };
  Group unhealthy;  // now; they were not, or were not listed
  Group healthy;    // again
  Group forgotten;  // not listed any more
};

// Both lists are sorted by id.
HealthChanges health_changes(std::span<const Device> before, std::span<const Device> after);

}  // namespace plughost
