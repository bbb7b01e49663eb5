#include "model/device/node_resources.hpp"

#include <algorithm>

#include "base/text/quantity.hpp"
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

}  // namespace plughost
