#pragma once
// Chooses among the free devices for a container. Pure functions of values, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "model/allocate/one_container.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The devices that the ids of a container may belong to; otherwise the allocation is refused.
struct ShareTerms {
  SharesOf of = SharesOf::kAny;
  std::span<const CardName> same;  // the ids must be of these cards; empty: of any card
};

// Returns a subset of `available` that contains `must_include` and has exactly `size` ids if available has
// that many. Never fails, because an error would reject the pod. Ids that the inventory does not have come
// last. Replicas that are not available count as used. near: PCI paths; among devices that the policy ranks
// equal, those near one of them come first. Choices that fulfil the terms precede all others, if there are
// enough ids.
std::vector<std::string> preferred(AllocationPolicy policy, const Inventory& inventory,
                                   std::span<const std::string> available,
                                   std::span<const std::string> must_include, std::size_t size,
                                   std::span<const std::string> near = {}, const ShareTerms& terms = {});

}  // namespace plughost
