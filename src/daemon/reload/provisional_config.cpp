#include "daemon/reload/provisional_config.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

ProvisionalConfig::ProvisionalConfig(Before before, const KubeletConfig& kubelet,
                                     std::chrono::seconds duration, Time now)
    : before_(std::move(before)),
      duration_(duration),
      until_(now + duration),
      moved_(before_.config->kubelet != kubelet) {}

std::string ProvisionalConfig::check(const Attachments& seen, Time now) {
  if (now >= until_) return "not confirmed within " + std::to_string(duration_.count()) + " s";
  for (const auto& [resource, entry] : before_.resources) {
    const bool missing = (seen.kubelet || moved_) && seen.entries.contains(entry);
    if (!missing || seen.resources.contains(resource)) {
      missing_.erase(resource);
      continue;
    }
    const Time since = missing_.try_emplace(resource, now).first->second;
    if (now - since >= kLost) return "the kubelet has lost " + resource;
  }
  return {};
}

ProvisionalConfig::Time ProvisionalConfig::due() const {
  Time due = until_;
  for (const auto& [resource, since] : missing_) due = std::min(due, since + kLost);
  return due;
}

}  // namespace plughost
