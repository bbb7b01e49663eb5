#pragma once
// Devices that flap: a loose cable must not make the kubelet believe in a device ten times a second. A value;
// not thread-safe.

#include <array>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// The recent changes of one resource's devices between Healthy and not; one that is not listed is not.
class Damping {
 public:
  using Clock = std::chrono::steady_clock;
  // More changes than this within the window, and the device flaps until it has been calm for so long.
  static constexpr std::size_t kMostChanges = 5;
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::chrono::seconds kCalm{30};

  // Makes those of the devices that flap Unhealthy; a trouble of their own stays. before: what the last call
  // left, or nothing. Both are sorted by id.
  void apply(std::span<const Device> before, std::vector<Device>& devices, Clock::time_point now);
  // When apply would let a device go that flaps, if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_release() const { return next_; }

 private:
  static constexpr Clock::time_point kNever{};
  struct Track {
    bool healthy = false;  // without damping
    bool flaps = false;
    std::array<Clock::time_point, kMostChanges + 1> changes{};  // the newest last; kNever: none
    bool calm() const { return changes.back() == kNever; }
    bool over(Clock::time_point now) const { return changes.back() + (flaps ? kCalm : kWindow) <= now; }
  };
  void note(const std::string& id, bool was_healthy, bool is_healthy, Clock::time_point now);

  std::map<std::string, Track> tracks_;  // by id; of the devices that have changed lately
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace plughost
