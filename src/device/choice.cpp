#include "device/choice.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace plughost {

namespace {

// The devices that match one of the patterns. Each pattern is tried on all of them: does it match any?
std::vector<bool> matching(const std::vector<DevicePattern>& patterns, const std::vector<Device>& devices,
                           std::vector<std::string>& remarks) {
  std::vector<bool> matched(devices.size());
  for (const DevicePattern& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!pattern.matches(devices[i])) continue;
      any = matched[i] = true;
    }
    if (!any) remarks.push_back('`' + pattern.where + "` matches no device that is here now");
  }
  return matched;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool DevicePattern::matches(const Device& device) const {
  return std::ranges::all_of(attributes, [&](const auto& wanted) {
    const std::string* const value = device.attribute(wanted.first);
    return value && std::ranges::any_of(wanted.second, [&](const std::string& pattern) {
             return plughost::matches(pattern, *value);
           });
  });
}

void choose(const Choice& choice, std::vector<Device>& devices, std::vector<std::string>& remarks) {
  if (choice.all()) return;
  const std::vector<bool> only = matching(choice.only, devices, remarks);
  const std::vector<bool> except = matching(choice.except, devices, remarks);
  std::size_t i = 0;
  std::erase_if(devices, [&](const Device&) {
    const std::size_t at = i++;
    return except[at] || (!choice.only.empty() && !only[at]);
  });
}

}  // namespace plughost
