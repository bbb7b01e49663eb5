#include "daemon/drain/drain_order.hpp"

#include <algorithm>
#include <vector>

#include "base/text/text.hpp"
#include "daemon/status/status.hpp"

namespace plughost {

std::string error_of(const DrainOrder& order) {
  if (!order.terms) return {};
  if (const auto& duration = order.terms->duration;
      duration && (*duration < DrainOrder::kShortest || *duration > DrainOrder::kLongest))
    return "a device is drained for a second to 1000 days";
  return reason_error(order.terms->reason);
}

std::string why_not(const DrainOrder& order, const DrainSet::Name& name, const DrainSet& drains,
                    ResourceSnapshots snapshots) {
  if (std::string error = error_of(order); !error.empty()) return error;
  if (drains.find(name)) return {};  // there or not
  std::vector<std::string> known;
  const Device* const listed = device_named(snapshots, name.resource, name.device);
  if (!order.terms && listed && listed->lasting) return {};
  if (!order.terms) {
    for (const auto& [each, drain] : drains.all()) known.push_back(each.resource + '=' + each.device);
    return no_such("drained device", name.resource + '=' + name.device, known);
  }
  const auto snapshot = std::ranges::find(snapshots, name.resource, &ResourceSnapshot::resource);
  if (snapshot == snapshots.end()) {
    for (const auto& each : snapshots) known.push_back(each->resource);
    std::ranges::sort(known);
    return no_such("resource", name.resource, known);
  }
  if (listed) return {};
  for (const Device& device : (*snapshot)->inventory.devices()) known.push_back(device.id);
  return no_such("device of " + name.resource, name.device, known);
}

Json DrainAnswer::json() const {
  if (!error.empty()) return {{"error", error}};
  Json told{{"error", ""}, {"resource", name.resource}, {"device", name.device}};
  told["drained"] = drain.has_value();
  if (drain) {
    told["what"] = drain->text();
    told["reason"] = drain->reason;
    told["since"] = time_json(drain->since);
    told["until"] = time_json(drain->until);
  }
  told["unsaved"] = unsaved;
  told["health"] = device.healthy() ? "Healthy" : "Unhealthy";
  told["trouble"] = device.reason();
  told["holders"] = holders_json(device, name.resource, holdings.get());
  told["holdersUnknown"] = holders_unknown;
  return told;
}

const Device* device_named(const Inventory& inventory, std::string_view id) {
  if (const Device* const found = inventory.find(id)) return found;
  return device_of_id(inventory.devices(), id);
}

const Device* device_named(ResourceSnapshots snapshots, std::string_view resource, std::string_view id) {
  const auto snapshot = std::ranges::find(snapshots, resource, &ResourceSnapshot::resource);
  return snapshot == snapshots.end() ? nullptr : device_named((*snapshot)->inventory, id);
}

std::string no_such(const std::string& what, const std::string& name, std::span<const std::string> known) {
  constexpr std::size_t kMost = 16;
  const std::span<const std::string> shown = known.subspan(0, std::min(known.size(), kMost));
  std::string text = "there is no " + what + ' ' + name + "; ";
  if (shown.empty()) return text + "there is none at all";
  text += "there " + std::string(known.size() == 1 ? "is " : "are ") + joined(shown, ", ");
  if (known.size() > kMost) text += " and " + std::to_string(known.size() - kMost) + " more";
  return text;
}

}  // namespace plughost
