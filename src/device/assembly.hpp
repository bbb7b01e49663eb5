#pragma once
// From a scan's devices to the resources that an entry makes of them. Pure functions of values, thread-safe.

#include <chrono>
#include <functional>
#include <map>
#include <span>
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

// Since when devices that a resource had are gone.
class Remembered {
 public:
  using Clock = std::chrono::steady_clock;
  // Says of a device that has been due to be forgotten since then whether it stays nevertheless: a pod may
  // hold it, and the kubelet would show it as Healthy there. Not set: none stays.
  using Stays = std::function<bool(const Device& device, Clock::time_point due)>;

  // scanned, and the devices of the list before that are gone: Unhealthy until forget_after has passed since
  // they were first missed. before: what the last merge returned, or nothing; sorted by id.
  std::vector<Device> merge(std::span<const Device> before, std::vector<Device> scanned,
                            Clock::time_point now, std::chrono::seconds forget_after,
                            const Stays& stays = {});
  // When a device will be due to be forgotten, if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_forgetting() const { return next_; }

 private:
  std::map<std::string, Clock::time_point> gone_since_;  // by id
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace plughost
