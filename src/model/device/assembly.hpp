#pragma once
// From a scan's devices to the resources that an entry makes of them. Pure functions of values, thread-safe.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"
#include "model/device/duplicate_serials.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Of one entry. What is beyond is left out, with a remark.
inline constexpr std::size_t kMostResources = 1000;

// By the resource's full name, sorted by id.
using DevicesOf = std::map<std::string, std::vector<Device>>;

struct Assembly {
  // An entry without placeholders in its name has exactly one, maybe empty.
  DevicesOf resources;
  std::vector<std::string> remarks;    // devices that were left out, and why
  std::vector<std::string> unmatched;  // where the rules of replicas stand that match no device
};

// Applies the spec's name, id and replicas. Devices whose name value cannot be made a valid resource name,
// that repeat an id, or whose paths are not UTF-8 (Unhealthy, with that reason) are remarked on.
// At most kMostResources, and per resource what fits into one message to the kubelet: what is listed already,
// by resource, stays before what is new, and of that what is well before the sick. Devices with one serial
// are told apart: see resolve_duplicate_serials().
Assembly assemble(const AllocationSpec& spec, std::vector<Device> scanned,
                  const std::map<std::string, Inventory>& listed = {}, const WasGiven& was_given = {});

// The name that the resource has, by renameByDefault, where its devices are shared, or where they are not.
std::string with_other_sharing(const std::string& resource);

// What one of the entries of a resource has found.
struct EntryFound {
  std::shared_ptr<const AllocationSpec> terms;
  std::shared_ptr<const DevicesOf> devices;  // nullptr: nothing yet
};

// The lists of several entries of one name, in the order in which these stand. Each device goes by its own
// entry's terms, and what two have found is the first one's: by its hardware, or by its nodes and files. One
// that has an id that another device has already is left out, with a remark, and so is what does not fit into
// one message: as in assemble().
Assembly join(const std::vector<EntryFound>& parts, const std::map<std::string, Inventory>& listed = {});

// The size, by wire_size(), of the largest of the lists that the spec makes of these devices, if none is
// left out for its size.
std::size_t listed_size(const AllocationSpec& spec, std::vector<Device> scanned);

}  // namespace plughost
