#pragma once
// Computes what a container gets for its allocated ids. Pure functions of values, thread-safe.
//
// The kubelet calls Allocate once in a container's life, stores the response in its checkpoint, and admits no
// other pod meanwhile. So the response depends on the list and the ids only, and is the same before and after
// a restart of plughost. `plughost simulate` and our CDI specifications agree with the response, because one
// function computes all of them. The scan has done all that needs the machine, except for one stat per node:
// 8 devices take 1.08 of the time of an empty call, 40 units of 80,000 as long as 40 whole devices (./dev
// bench, and with --gpus).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

struct ContainerNode {
  std::string host_path;
  std::string container_path;
  std::string permissions = "rw";

  bool operator==(const ContainerNode&) const = default;
};

// A file or directory that is bind-mounted into a container.
struct ContainerMount {
  std::string host_path;
  std::string container_path;
  bool read_only = false;

  bool operator==(const ContainerMount&) const = default;
};

// The effects of a CDI device name on a container.
struct CdiEdits {
  std::map<std::string, std::string> env;
  std::vector<ContainerMount> mounts;
  std::vector<ContainerNode> nodes;

  bool empty() const { return env.empty() && mounts.empty() && nodes.empty(); }
  bool operator==(const CdiEdits&) const = default;
};

// The response for one container, independent of the kubelet's protocol. All texts are valid UTF-8.
struct Allocation {
  std::map<std::string, std::string> env;
  std::vector<ContainerMount> mounts;
  std::vector<ContainerNode> nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi;  // vendor.example/class=device
  CdiEdits by_cdi;               // the edits of names in our specification; not part of the response

  bool operator==(const Allocation&) const = default;
};

// The reason for a refused allocation. `text` becomes an event of the pod, and names the resource and device.
struct Refusal {
  enum class Reason {
    kUnknownDevice,
    kUnhealthyDevice,
    kTooMany,      // several shares; a container may have only one share
    kOtherShares,  // shares of other devices than the entry allows
    kConflict,     // the entry does not fit these devices: conflicting paths or names, or a missing value
  };
  Reason reason;
  std::string text;
};

// Allocates devices of `inventory`, which assemble() has made. `ids` are as the kubelet sent them; replicas
// of one device count as that device once. `more` is what the entry's `allocate` program adds. Equal ids give
// equal responses. Refuses unknown ids, Unhealthy devices, shares of other devices than the spec allows,
// different nodes, mounts or values for one path or name in the container, attributes that a template needs
// and a device lacks, and text that is not UTF-8.
std::variant<Allocation, Refusal> allocate(std::string_view resource, const AllocationSpec& spec,
                                           const Inventory& inventory, std::span<const std::string> ids,
                                           const Allocation& more = {});

// The pod of the container, if a scheduler has chosen the card.
struct UnitsPod {
  std::string name_space;
  std::string name;
  std::uint64_t units = 0;  // of the pod's containers, without init containers
};

// The counts of units, if ids are units of cards.
struct UnitCounts {
  std::size_t of_container = 0;
  std::size_t total = 0;                       // of all listed devices
  std::optional<UnitsPod> pod = std::nullopt;  // nullopt: templates that need the pod are refused
};

// Allocates one device, whatever the ids are and even if it is Unhealthy. For a spec with `assume`.
std::variant<Allocation, Refusal> allocate_device(std::string_view resource, const AllocationSpec& spec,
                                                  const Device& device, const UnitCounts& units,
                                                  const Allocation& more = {});

// Returns the device's part of the resource's CDI specification, even if the device is Unhealthy. The result
// is empty if the device has no such part, or if allocate() would refuse the device.
CdiEdits cdi_edits(std::string_view resource, const AllocationSpec& spec, const Device& device);

}  // namespace plughost
