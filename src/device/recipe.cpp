#include "device/recipe.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace plughost {
namespace {

// Which of the devices match one of the patterns. Each pattern is tried on all of them: does it match any?
std::vector<bool> matching(const std::vector<DevicePattern>& patterns, const std::vector<Device>& devices,
                           std::vector<std::string>& unmatched) {
  std::vector<bool> matched(devices.size());
  for (const DevicePattern& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (pattern.matches(devices[i])) any = matched[i] = true;
    }
    if (!any) unmatched.push_back(pattern.where);
  }
  return matched;
}

}  // namespace

bool DevicePattern::matches(const Device& device) const {
  return std::ranges::all_of(attributes, [&](const auto& wanted) {
    const auto fits = [&](const std::string* value) {
      return value && !value->empty() && std::ranges::any_of(wanted.second, [&](const std::string& pattern) {
               return pattern == *value || plughost::matches(pattern, *value);
             });
    };
    return fits(device.attribute(wanted.first)) || fits(device.attribute_at_place(wanted.first));
  });
}

bool ReplicaRule::matches(const Device& device) const {
  return std::ranges::any_of(devices, [&](const DevicePattern& each) { return each.matches(device); });
}

std::string_view disagreement(const Recipe& one, const Recipe& other) {
  if (one.rename_shared != other.rename_shared) return "renameByDefault";
  if (one.one_share_only != other.one_share_only) return "failRequestsGreaterThanOne";
  if (one.policy != other.policy) return "allocationPolicy";
  if (one.near != other.near) return "near";
  if (one.same_card != other.same_card) return "sameCard";
  if (one.shares != other.shares) return "shares";
  if (one.units != other.units) return "unit";
  // Which cards a scheduler means is asked of the entry that has them all.
  if (one.assume || other.assume) return "assume";
  if (one.empty_at_stop != other.empty_at_stop) return "emptyAtStop";
  if (one.required != other.required) return "required";
  if (one.forget_after != other.forget_after) return "forgetAfter";
  // The kubelet asks the whole resource once whether it is to be told of starts.
  if (one.pre_start.has_value() != other.pre_start.has_value()) return "preStart";
  return {};
}

std::vector<std::string> choose(const Choice& choice, std::vector<Device>& devices) {
  std::vector<std::string> unmatched;
  const std::vector<bool> only = matching(choice.only, devices, unmatched);
  const std::vector<bool> except = matching(choice.except, devices, unmatched);
  std::size_t i = 0;
  std::erase_if(devices, [&](const Device&) {
    const std::size_t at = i++;
    return except[at] || (!choice.only.empty() && !only[at]);
  });
  return unmatched;
}

}  // namespace plughost
