#pragma once
// What one resource offers at one moment: the devices, and how to answer for them. Immutable once made.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/allocate/ledger.hpp"
#include "model/allocate/one_container.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Why no device can be promised now, as a sentence.
struct Stall {
  std::shared_ptr<const AllocationSpec> terms;  // of those that go by these; nullptr: of all
  std::string why;

  bool operator==(const Stall&) const = default;
};

struct ResourceSnapshot {
  std::string resource;
  Inventory inventory;
  std::shared_ptr<const AllocationSpec> spec;
  Neighbours near = {};                        // of the entry that the spec names
  std::shared_ptr<LastGiven> given = nullptr;  // is told what is given; nullptr: nobody wants to know
  // Of the resources that are joined with this one by `sameCard`; nullptr: none is.
  std::shared_ptr<GivenCards> joined = nullptr;
  std::shared_ptr<Ledger> ledger = nullptr;    // of the machine; nullptr: it has none
  std::shared_ptr<FreeShares> free = nullptr;  // is told what is free; nullptr: a container may have any
  std::vector<Stall> stalls = {};
};
using SharedSnapshot = std::shared_ptr<const ResourceSnapshot>;

// Why these cannot be promised now; empty: nothing speaks against it.
std::string stall_of(const ResourceSnapshot& snapshot, std::span<const std::string> ids);

// Does a container runtime read a specification of ours for some of the devices?
bool names_by_cdi(const ResourceSnapshot& snapshot);
// Does a program have a part in the answer for these ids?
bool asks_program(const ResourceSnapshot& snapshot, std::span<const std::string> ids);

}  // namespace plughost
