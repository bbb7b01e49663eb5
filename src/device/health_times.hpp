#pragma once
// Since when the devices of one resource are as well as they are. A value; not thread-safe.

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "device/device.hpp"

namespace plughost {

class HealthTimes {
 public:
  using Clock = std::chrono::system_clock;

  // The list was before and is after, since now. Both are sorted by id.
  void note(std::span<const Device> before, std::span<const Device> after, Clock::time_point now);
  Clock::time_point since(std::string_view id) const;

 private:
  // Most devices are as they were when the resource came: only the others are worth memory.
  Clock::time_point first_{};
  std::map<std::string, Clock::time_point, std::less<>> changed_;
};

}  // namespace plughost
