#pragma once
// One resource at one moment: its devices, and how to allocate them. Immutable once made.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/allocate/ledger.hpp"
#include "model/allocate/one_container.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// A reason why devices cannot be allocated at the moment.
struct Stall {
  std::shared_ptr<const AllocationSpec> terms;  // the entry whose devices are affected; nullptr: all devices
  std::string why;

  bool operator==(const Stall&) const = default;
};

struct ResourceSnapshot {
  std::string resource;
  Inventory inventory;
  std::shared_ptr<const AllocationSpec> spec;
  Neighbours near = {};                        // the devices of the entry that `near` names
  std::shared_ptr<LastGiven> given = nullptr;  // records the allocated devices; nullptr: not needed
  // Shared by this resource and the resources joined with it by `sameCard`; nullptr if none are joined.
  std::shared_ptr<GivenCards> joined = nullptr;
  std::shared_ptr<Ledger> ledger = nullptr;    // the machine's ledger; nullptr: none
  std::shared_ptr<FreeShares> free = nullptr;  // records the free ids; nullptr: not needed
  std::vector<Stall> stalls = {};
};
using SharedSnapshot = std::shared_ptr<const ResourceSnapshot>;

// Returns why these ids cannot be allocated at the moment; empty if they can.
std::string stall_of(const ResourceSnapshot& snapshot, std::span<const std::string> ids);

// Returns true if the runtime resolves some of the devices by our CDI specification.
bool names_by_cdi(const ResourceSnapshot& snapshot);
// Returns true if the entry of one of these ids has an `allocate` program.
bool asks_program(const ResourceSnapshot& snapshot, std::span<const std::string> ids);

}  // namespace plughost
