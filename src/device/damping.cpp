#include "device/damping.hpp"

#include <algorithm>

namespace plughost {

void Damping::note(const std::string& id, bool was_healthy, bool is_healthy, Clock::time_point now) {
  const auto known = tracks_.find(id);
  if ((known == tracks_.end() ? was_healthy : known->second.healthy) == is_healthy) return;
  Track& track = tracks_[id];
  track.healthy = is_healthy;
  std::rotate(track.changes.begin(), track.changes.begin() + 1, track.changes.end());
  track.changes.back() = now;
  const Clock::time_point oldest = track.changes.front();
  if (oldest != kNever && now - oldest < kWindow) track.flaps = true;
}

void Damping::apply(std::span<const Device> before, std::vector<Device>& devices, Clock::time_point now) {
  for (auto& [id, track] : tracks_) {
    if (track.over(now)) track = {.healthy = track.healthy};  // a change after that counts anew
  }

  auto old = before.begin();
  for (const Device& device : devices) {
    for (; old != before.end() && old->id < device.id; ++old) note(old->id, old->healthy(), false, now);
    const bool listed = old != before.end() && old->id == device.id;
    // A device that nobody has seen before has not changed.
    note(device.id, listed ? old->healthy() : device.healthy(), device.healthy(), now);
    if (listed) ++old;
  }
  for (; old != before.end(); ++old) note(old->id, old->healthy(), false, now);
  std::erase_if(tracks_, [](const auto& item) { return item.second.calm(); });

  next_ = Clock::time_point::max();
  for (const auto& [id, track] : tracks_) {
    if (!track.flaps) continue;
    next_ = std::min(next_, track.changes.back() + kCalm);
    const auto device = std::ranges::lower_bound(devices, id, {}, &Device::id);
    if (device == devices.end() || device->id != id || !device->healthy()) continue;
    device->trouble = "flapping: it changed more than " + std::to_string(kMostChanges) +
                      " times in a minute; Healthy again after " + std::to_string(kCalm.count()) +
                      " s without a change";
  }
}

}  // namespace plughost
