#pragma once
// What a configuration gives on nodes that were recorded, and what another one would change there. Values;
// nothing here looks at this machine, and a look in memory does not block.

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"
#include "tools/plan/facts.hpp"

namespace plughost {

// What a node would offer of a resource.
struct PlannedResource {
  struct Device {
    unsigned replicas = 1;
    std::string error;  // why it is Unhealthy; empty: it is Healthy

    bool operator==(const Device&) const = default;
  };
  std::map<std::string, Device> devices;  // by id
  bool unknown = false;                   // a program lists them, which nobody runs here
  // How many the scheduler sees, replicas included.
  std::size_t count() const;
  std::size_t healthy() const;

  bool operator==(const PlannedResource&) const = default;
};

// What a configuration makes of a node.
struct PlannedNode {
  std::map<std::string, PlannedResource> resources;
  std::vector<NotHere> others;      // entries that do not apply
  std::vector<std::string> errors;  // what `plughost discover` would fail with there
  std::vector<std::string> remarks;
};

PlannedNode plan(const Config& config, const Facts& facts);

struct PlannedChange {
  std::string resource;
  const PlannedResource* before = nullptr;  // nullptr: it is not offered
  const PlannedResource* after = nullptr;   // likewise
  std::vector<std::string> added;           // ids
  std::vector<std::string> removed;
  std::vector<std::string> changed;  // with other replicas, or another health
};

// The resources that differ, by name. Both outlive the result.
std::vector<PlannedChange> changes_between(const PlannedNode& before, const PlannedNode& after);

}  // namespace plughost
