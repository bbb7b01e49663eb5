#include "device/remembered.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "device/inventory.hpp"

namespace plughost {

using Clock = Remembered::Clock;

Clock::time_point forget_at(Clock::time_point since, std::chrono::seconds forget_after) {
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(Clock::time_point::max() - since);
  return forget_after < left ? since + forget_after : Clock::time_point::max();
}

std::vector<Device> Remembered::merge(std::span<const Device> before, std::vector<Device> scanned,
                                      Clock::time_point now, std::chrono::seconds forget_after,
                                      const Stays& stays) {
  sort_by_id(scanned);

  std::vector<Device> gone;
  std::map<std::string, Clock::time_point> gone_since;
  next_ = Clock::time_point::max();
  std::size_t bytes = 0;
  auto here = scanned.begin();
  for (const Device& device : before) {
    while (here != scanned.end() && here->id < device.id) ++here;
    if (here != scanned.end() && here->id == device.id) continue;
    const auto known = gone_since_.find(device.id);
    const Clock::time_point since = known == gone_since_.end() ? now : known->second;
    const Clock::time_point due = forget_at(since, forget_after);
    if (due <= now && !(stays && stays(device, due))) continue;
    // Devices that are there come first: a list that no message can hold would cost them all.
    if (gone.empty()) {
      for (const Device& present : scanned) bytes += wire_size(present);
    }
    bytes += wire_size(device);
    if (bytes > kListLimit) break;
    gone.push_back(device);
    gone.back().gone = true;
    gone.back().away = false;
    gone.back().trouble = "it is gone: unplugged, removed, or left out by its entry";
    gone_since.emplace(device.id, since);
    if (due > now) next_ = std::min(next_, due);
  }
  gone_since_ = std::move(gone_since);
  if (gone.empty()) return scanned;

  const auto present = static_cast<std::ptrdiff_t>(scanned.size());
  std::ranges::move(gone, std::back_inserter(scanned));
  std::ranges::inplace_merge(scanned, scanned.begin() + present, {}, &Device::id);
  return scanned;
}

}  // namespace plughost
