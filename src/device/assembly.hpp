#pragma once
// From a scan's devices to the resources that an entry makes of them. Pure functions of values, thread-safe.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/inventory.hpp"
#include "device/recipe.hpp"

namespace plughost {

struct Assembly {
  // By the resource's full name. An entry without placeholders in its name has exactly one, maybe empty.
  std::map<std::string, std::vector<Device>> resources;
  std::vector<std::string> remarks;  // devices that were left out, and why
};

// Applies the recipe's name, id and replicas. Devices whose name value cannot be made a valid resource name,
// that repeat an id, or whose paths are not UTF-8 (Unhealthy, with that reason) are remarked on.
// At most 1,000 resources per entry, and per resource what fits into one message to the kubelet.
Assembly assemble(const Recipe& recipe, std::vector<Device> scanned);

// Devices that a resource had and may get again.
class Remembered {
 public:
  using Clock = std::chrono::steady_clock;

  // scanned, and the devices that were there before and are gone: Unhealthy until forget_after has passed
  // since they were last seen.
  std::vector<Device> merge(std::vector<Device> scanned, Clock::time_point now,
                            std::chrono::seconds forget_after);
  // When merge would forget a device, if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_forgetting() const { return next_; }

 private:
  struct Gone {
    Device device;
    Clock::time_point since;
  };
  std::vector<Device> present_;  // sorted by id
  std::vector<Gone> gone_;
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace plughost
