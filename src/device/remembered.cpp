#include <algorithm>
#include <iterator>
#include <utility>

#include "device/assembly.hpp"

namespace plughost {
namespace {

using Clock = Remembered::Clock;

// The latest point in time stands for never: forget_after may be any number.
Clock::time_point forget_at(Clock::time_point since, std::chrono::seconds forget_after) {
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(Clock::time_point::max() - since);
  return forget_after < left ? since + forget_after : Clock::time_point::max();
}

bool has_id(const std::vector<Device>& sorted, const std::string& id) {
  return std::ranges::binary_search(sorted, id, {}, &Device::id);
}

}  // namespace

std::vector<Device> Remembered::merge(std::vector<Device> scanned, Clock::time_point now,
                                      std::chrono::seconds forget_after) {
  if (!std::ranges::is_sorted(scanned, {}, &Device::id)) std::ranges::stable_sort(scanned, {}, &Device::id);

  if (scanned != present_) {
    std::erase_if(gone_, [&](const Gone& gone) { return has_id(scanned, gone.device.id); });
    for (Device& device : present_) {
      if (has_id(scanned, device.id)) continue;
      device.trouble = "it is gone: unplugged or removed";
      gone_.push_back({.device = std::move(device), .since = now});
    }
    std::ranges::sort(gone_, {}, [](const Gone& gone) -> const std::string& { return gone.device.id; });
    present_ = scanned;
  }
  std::erase_if(gone_, [&](const Gone& gone) { return forget_at(gone.since, forget_after) <= now; });

  next_ = Clock::time_point::max();
  if (gone_.empty()) return scanned;

  // Devices that are there come first: a list that no message can hold would cost them all.
  std::size_t bytes = 0;
  for (const Device& device : scanned) bytes += wire_size(device);
  std::erase_if(gone_, [&](const Gone& gone) {
    const std::size_t size = wire_size(gone.device);
    if (bytes + size > kListLimit) return true;
    bytes += size;
    return false;
  });

  const auto present = static_cast<std::ptrdiff_t>(scanned.size());
  for (const Gone& gone : gone_) {
    next_ = std::min(next_, forget_at(gone.since, forget_after));
    scanned.push_back(gone.device);
  }
  std::ranges::inplace_merge(scanned, scanned.begin() + present, {}, &Device::id);
  return scanned;
}

}  // namespace plughost
