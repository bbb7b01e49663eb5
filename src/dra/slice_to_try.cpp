#include "dra/slice_to_try.hpp"

#include <algorithm>

#include "dra/names.hpp"
#include "dra/slice_json.hpp"

namespace plughost {

Slice slice_to_try(const std::string& driver, const std::string& node, bool partitions) {
  Slice slice{.pool = node + "/to-try"};
  slice.name = slice_name(0, driver, node, slice.pool);
  PoolDevice device{.name = "to-try", .several_claims = true, .taints = {{.key = "plughost.io/to-try"}}};
  if (partitions) device.counters = {{.set = "to-try", .counters = {{"to-try", 1}}}};
  slice.devices = {std::move(device)};
  return slice;
}

DraFeatures features_found(const Slice& tried, const Slice& shown) {
  DraFeatures found = features_kept(tried, shown);
  const bool counters =
      std::ranges::any_of(tried.devices, [](const PoolDevice& d) { return !d.counters.empty(); });
  found.partitions = found.partitions && counters;
  return found;
}

std::vector<std::string> gates_missing(const DraFeatures& features) {
  std::vector<std::string> gates;
  if (!features.taints) gates.emplace_back(kTaintsGate);
  if (!features.sharing) gates.emplace_back(kSharingGate);
  if (!features.partitions) gates.emplace_back(kPartitionsGate);
  return gates;
}

}  // namespace plughost
