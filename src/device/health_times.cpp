#include "device/health_times.hpp"

namespace plughost {

void HealthTimes::note(std::span<const Device> before, std::span<const Device> after, Clock::time_point now) {
  if (first_ == Clock::time_point{}) {
    first_ = now;
    return;
  }
  auto old = before.begin();
  const auto gone = [&] { changed_.erase((old++)->id); };
  for (const Device& device : after) {
    while (old != before.end() && old->id < device.id) gone();
    const bool known = old != before.end() && old->id == device.id;
    if (!known || old->healthy() != device.healthy()) changed_[device.id] = now;
    if (known) ++old;
  }
  while (old != before.end()) gone();
}

HealthTimes::Clock::time_point HealthTimes::since(std::string_view id) const {
  const auto found = changed_.find(id);
  return found == changed_.end() ? first_ : found->second;
}

}  // namespace plughost
