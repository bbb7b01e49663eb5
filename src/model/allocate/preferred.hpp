#pragma once
// Which of the free devices a container should get. Pure functions of values, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "model/allocate/one_container.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Of which devices the ids have to be, or the container gets none.
struct ShareTerms {
  SharesOf of = SharesOf::kAny;
  std::span<const CardName> same;  // of these cards; empty: of any
};

// Never fails, because an error would fail the pod's admission: the answer is a subset of available, holds
// all of must_include, and has exactly `size` ids whenever available has that many. Ids that the inventory
// does not know come last. A device's replicas that are not available are taken to be in use. near: PCI paths
// (device/near.hpp); of devices that are equal to the policy, those near one of them come first. Whatever the
// policy, what fulfils the terms comes before what does not, if there is enough of it.
std::vector<std::string> preferred(AllocationPolicy policy, const Inventory& inventory,
                                   std::span<const std::string> available,
                                   std::span<const std::string> must_include, std::size_t size,
                                   std::span<const std::string> near = {}, const ShareTerms& terms = {});

}  // namespace plughost
