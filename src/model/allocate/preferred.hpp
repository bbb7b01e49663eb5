#pragma once
// Chooses among the free devices for a container. Pure functions of values, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "model/allocate/one_container.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Limits the devices that the ids of one container may belong to. Any other allocation is refused.
struct ShareTerms {
  SharesOf of = SharesOf::kAny;
  std::span<const CardName> same;  // the ids must be of these cards; empty: of any card
};

// Returns a subset of `available` that contains `must_include` and has exactly `size` ids if `available` has
// that many. Never fails, because an error would reject the pod. Ids that the inventory does not have come
// last. Replicas that are not available count as used. `near` has PCI paths: among devices that the policy
// ranks equal, the devices near one of these paths come first. A choice that fulfils `terms`, if there is
// one, precedes all other choices.
std::vector<std::string> preferred(AllocationPolicy policy, const Inventory& inventory,
                                   std::span<const std::string> available,
                                   std::span<const std::string> must_include, std::size_t size,
                                   std::span<const std::string> near = {}, const ShareTerms& terms = {});

}  // namespace plughost
