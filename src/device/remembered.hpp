#pragma once
// The devices that a resource had and has no more. A value; not thread-safe.

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// When a device that is gone since then is due to be forgotten; Clock::time_point::max(): never.
std::chrono::steady_clock::time_point forget_at(std::chrono::steady_clock::time_point since,
                                                std::chrono::seconds forget_after);

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
