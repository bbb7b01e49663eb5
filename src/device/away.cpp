#include "device/away.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

std::vector<Device> AwayDevices::merge(std::span<const Device> before, std::span<const Device> noted,
                                       std::vector<Device> scanned, Clock::time_point now,
                                       const IsHeld& is_held) {
  next_ = Clock::time_point::max();
  std::map<std::string, Missing> missing;
  std::vector<Device> away;
  const auto look = [&](const Device& known) {
    const auto there = std::ranges::find(scanned, known.id, &Device::id);
    if (known.gone || missing.contains(known.id) || (there != scanned.end() && !there->away)) return;
    const auto former = missing_.find(known.id);
    Missing& its = missing[known.id] = former == missing_.end() ? Missing{.since = now} : former->second;
    if (!is_away(known, its, now, is_held)) return;
    if (there != scanned.end()) scanned.erase(there);
    away.push_back(known);
    away.back().away = true;
  };
  std::ranges::for_each(before, look);
  std::ranges::for_each(noted, look);
  missing_ = std::move(missing);
  for (Device& device : scanned) {
    if (!std::exchange(device.away, false)) continue;
    const std::string why = "its network interface is not on the host";
    device.trouble = device.trouble.empty() ? why : why + "; and " + device.trouble;
  }
  std::ranges::move(away, std::back_inserter(scanned));
  return scanned;
}

bool AwayDevices::any() const {
  return std::ranges::any_of(missing_, [](const auto& item) { return !item.second.over; });
}

bool AwayDevices::is_away(const Device& device, Missing& missing, Clock::time_point now,
                          const IsHeld& is_held) {
  if (missing.over) return false;
  switch (is_held(device, missing.since)) {
    case Held::kYes:
      missing.was_held = true;
      missing.until = Clock::time_point::max();
      return true;
    case Held::kNotKnownYet:
      return true;
    case Held::kNo:
      break;
  }
  if (missing.was_held && missing.until == Clock::time_point::max()) missing.until = now + kReturn;
  missing.over = !missing.was_held || missing.until <= now;
  if (!missing.over) next_ = std::min(next_, missing.until);
  return !missing.over;
}

}  // namespace plughost
