#pragma once
// Computes what a configuration gives on recorded nodes, and what another configuration would change. Values;
// does not read this machine and does not block.

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"
#include "tools/plan/facts.hpp"

namespace plughost {

// A resource that a node would offer.
struct PlannedResource {
  struct Device {
    unsigned replicas = 1;
    std::string error;  // why it is Unhealthy; empty: Healthy

    bool operator==(const Device&) const = default;
  };
  std::map<std::string, Device> devices;  // by id
  bool unknown = false;                   // a program lists the devices, and is not run here
  // Returns the number that the scheduler sees, replicas included.
  std::size_t count() const;
  std::size_t healthy() const;

  bool operator==(const PlannedResource&) const = default;
};

// A configuration applied to a node.
struct PlannedNode {
  std::map<std::string, PlannedResource> resources;
  std::vector<NotHere> others;      // entries that do not apply
  std::vector<std::string> errors;  // errors that `plughost discover` would print on that node
  std::vector<std::string> remarks;
};

PlannedNode plan(const Config& config, const Facts& facts);

struct PlannedChange {
  std::string resource;
  const PlannedResource* before = nullptr;  // nullptr: not offered
  const PlannedResource* after = nullptr;   // nullptr: not offered
  std::vector<std::string> added;           // ids
  std::vector<std::string> removed;
  std::vector<std::string> changed;  // with other replicas or another health
};

// Returns the resources that differ, by name. Both arguments must outlive the result.
std::vector<PlannedChange> changes_between(const PlannedNode& before, const PlannedNode& after);

}  // namespace plughost
