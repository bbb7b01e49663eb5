#pragma once
// Turns the devices of a scan into the resources of an entry. Pure functions of values, thread-safe.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"
#include "model/device/duplicate_serials.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The maximum number of resources per entry. Further resources are left out, with a remark.
inline constexpr std::size_t kMostResources = 1000;

// Devices by the full name of their resource, sorted by id.
using DevicesOf = std::map<std::string, std::vector<Device>>;

struct Assembly {
  // An entry without placeholders in its name has exactly one resource, possibly empty.
  DevicesOf resources;
  std::vector<std::string> remarks;    // devices that were left out, and why
  std::vector<std::string> unmatched;  // the places of `replicas` rules that match no device
};

// Applies the entry's name, id and replicas. Leaves out, with a remark, devices whose resource name cannot be
// valid and devices that repeat an id. A device whose paths are not UTF-8 is Unhealthy. Keeps at most
// kMostResources, and per resource what fits into one message to the kubelet: already listed devices first,
// then healthy new devices. For equal serial numbers see resolve_duplicate_serials().
Assembly assemble(const AllocationSpec& spec, std::vector<Device> scanned,
                  const std::map<std::string, Inventory>& listed = {}, const WasGiven& was_given = {});

// Returns the resource's other name under renameByDefault: with the suffix for shared devices, or without it.
std::string with_other_sharing(const std::string& resource);

// The devices that one entry of a resource has found.
struct EntryFound {
  std::shared_ptr<const AllocationSpec> terms;
  std::shared_ptr<const DevicesOf> devices;  // nullptr: no scan has succeeded yet
};

// Merges the lists of several entries of one name, in the order of the entries. Each device keeps its own
// entry's terms. A device found by two entries, judged by its hardware or by its nodes and files, belongs to
// the first entry. Leaves out, with a remark, devices that repeat an id or that do not fit into one message,
// as assemble() does.
Assembly join(const std::vector<EntryFound>& parts, const std::map<std::string, Inventory>& listed = {});

// Returns the wire_size() of the largest list that the spec makes of these devices, without the limit on its
// size.
std::size_t listed_size(const AllocationSpec& spec, std::vector<Device> scanned);

}  // namespace plughost
