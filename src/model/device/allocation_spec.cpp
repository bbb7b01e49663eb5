#include "model/device/allocation_spec.hpp"

#include <algorithm>
#include <iterator>

#include "base/text/quantity.hpp"
#include "base/text/text.hpp"
#include "model/device/names.hpp"

namespace plughost {

std::string node_resource_error(std::string_view key) {
  // cpu, memory, pods, hugepages-2Mi and so on.
  if (key.find('/') == std::string_view::npos)
    return "A key without a domain is one of Kubernetes' own, and the kubelet's; write it as in "
           "vendor.example/gpu-count.";
  return resource_name_error(key);
}

NodeResources node_resources_of(std::span<const NodeResourceSpec> specs, std::span<const Inventory> lists) {
  std::uint64_t cards = 0;
  for (const Inventory& list : lists)
    cards += static_cast<std::uint64_t>(std::ranges::count_if(list.devices(), &Device::in_service));
  NodeResources counts;
  for (const NodeResourceSpec& spec : specs)
    counts[spec.key] = spec.count == CardCount::kCores ? cards * kCoresOfACard : cards;
  return counts;
}

NodeResources not_shown(const NodeResources& wanted, const Capacity& capacity) {
  NodeResources differing;
  for (const auto& [key, count] : wanted) {
    const auto shown = capacity.find(key);
    if (shown == capacity.end() ? count != 0 : whole_quantity(shown->second) != count)
      differing.emplace(key, count);
  }
  return differing;
}

Json capacity_patch(const NodeResources& resources) {
  Json capacity = Json::Object();
  for (const auto& [key, count] : resources) capacity[key] = std::to_string(count);
  return {{"status", Json{{"capacity", std::move(capacity)}}}};
}

namespace {

// Attributes that hold a comma-separated list: a pattern may match a single item.
constexpr std::string_view kLists[] = {"linkType", "netdevs", "pfName"};

bool fits(const std::string& pattern, std::string_view name, const std::string& value) {
  const auto fits_one = [&](std::string_view one) {
    return pattern == one || matches(pattern, std::string(one));
  };
  if (fits_one(value)) return true;
  const bool is_list = std::ranges::find(kLists, name) != std::end(kLists);
  return is_list && std::ranges::any_of(split(value, ','), fits_one);
}

// Returns for each device whether a pattern matches it. Every pattern is tried on all devices, to find
// unmatched patterns.
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
    const auto has = [&](const std::string* value) {
      return value && !value->empty() && std::ranges::any_of(wanted.second, [&](const std::string& pattern) {
               return fits(pattern, wanted.first, *value);
             });
    };
    return has(device.attribute(wanted.first)) || has(device.attribute_at_place(wanted.first));
  });
}

bool ReplicaRule::matches(const Device& device) const {
  return std::ranges::any_of(devices, [&](const DevicePattern& each) { return each.matches(device); });
}

std::string_view disagreement(const AllocationSpec& one, const AllocationSpec& other) {
  if (one.rename_shared != other.rename_shared) return "renameByDefault";
  if (one.one_share_only != other.one_share_only) return "failRequestsGreaterThanOne";
  if (one.policy != other.policy) return "allocationPolicy";
  if (one.near != other.near) return "near";
  if (one.same_card != other.same_card) return "sameCard";
  if (one.shares != other.shares) return "shares";
  if (one.units != other.units) return "unit";
  // With `assume`, one entry must have all cards, because the scheduler's choice is looked up there.
  if (one.assume || other.assume) return "assume";
  if (one.empty_at_stop != other.empty_at_stop) return "emptyAtStop";
  if (one.required != other.required) return "required";
  if (one.forget_after != other.forget_after) return "forgetAfter";
  // The kubelet requests PreStartContainer for a whole resource or not at all.
  if (one.pre_start.has_value() != other.pre_start.has_value()) return "preStart";
  return {};
}

Chosen choose(const Choice& choice, std::vector<Device>& devices) {
  Chosen chosen;
  const std::vector<bool> only = matching(choice.only, devices, chosen.unmatched);
  const std::vector<bool> except = matching(choice.except, devices, chosen.unmatched);
  // An entry that excludes the attached devices (by `physfn`) selects the card itself: see Device::if_named.
  const bool named = !choice.only.empty() || std::ranges::any_of(choice.except, [](const auto& pattern) {
    return pattern.attributes.contains("physfn");
  });
  std::size_t i = 0;
  std::erase_if(devices, [&](const Device& device) {
    const std::size_t at = i++;
    if (except[at]) return ++chosen.excepted > 0;
    if (!choice.only.empty() && !only[at]) return ++chosen.not_in_only > 0;
    const bool not_named = device.if_named && !named;
    if (not_named) chosen.not_named.push_back(device.id);
    return not_named;
  });
  return chosen;
}

}  // namespace plughost
