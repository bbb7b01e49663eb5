#pragma once
// What a container gets for the devices that the kubelet gave it. Pure functions of values: no I/O,
// thread-safe.
//
// The kubelet asks once in a container's life, keeps the answer in its checkpoint, and admits no other pod
// meanwhile. So an answer depends on the list and the ids alone: the same before and after a restart of
// plughost, what `plughost simulate` prints, and what a CDI specification says of the device, because one
// function makes both. All that needs the machine was looked up by the scan. What remains is a stat of each
// node: 8 devices take 1.08 of the time of an empty call, 40 units of 80,000 as long as 40 whole devices
// (./dev bench, and with --gpus).

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

// A device node that a container gets.
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

// What the name of a CDI device brings into a container.
struct CdiEdits {
  std::map<std::string, std::string> env;
  std::vector<ContainerMount> mounts;
  std::vector<ContainerNode> nodes;

  bool empty() const { return env.empty() && mounts.empty() && nodes.empty(); }
  bool operator==(const CdiEdits&) const = default;
};

// Knows nothing of the kubelet's protocol. Everything is valid UTF-8.
struct Allocation {
  std::map<std::string, std::string> env;
  std::vector<ContainerMount> mounts;
  std::vector<ContainerNode> nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi;  // vendor.example/class=device
  CdiEdits by_cdi;               // not in the answer itself: what the names of our own specification bring

  bool operator==(const Allocation&) const = default;
};

// Why there is no answer that would be right. The text ends up in the pod's events: it names the resource and
// the device.
struct Refusal {
  enum class Reason {
    kUnknownDevice,
    kUnhealthyDevice,
    kTooMany,      // several shares of devices, where one is all that a container may have
    kOtherShares,  // of other devices than a container's are to be of
    kConflict,     // the spec does not fit these devices: two things in one place, or a value that is missing
  };
  Reason reason;
  std::string text;
};

// The inventory's devices are as assemble() makes them. ids as the kubelet sent them. Replicas of one device
// count as that device once. Same ids, same answer. Refuses: an id that inventory does not have, an Unhealthy
// device, shares of other devices than the spec wants, two things
// in one place of the container, an attribute that a device does not have but a template needs, text that is
// not UTF-8. more: what the spec's own program adds. It must not contradict the rest.
std::variant<Allocation, Refusal> allocate(std::string_view resource, const AllocationSpec& spec,
                                           const Inventory& inventory, std::span<const std::string> ids,
                                           const Allocation& more = {});

// Whose container it is, where a scheduler has chosen the card.
struct UnitsPod {
  std::string name_space;
  std::string name;
  std::uint64_t units = 0;  // of its containers that are no init containers
};

// Of ids that are units of cards.
struct UnitCounts {
  std::size_t of_container = 0;
  std::size_t total = 0;                       // all that are listed
  std::optional<UnitsPod> pod = std::nullopt;  // a template that needs it is refused without
};

// The same of one device, by whatever ids, and it may be Unhealthy: for a spec with `assume`.
std::variant<Allocation, Refusal> allocate_device(std::string_view resource, const AllocationSpec& spec,
                                                  const Device& device, const UnitCounts& units,
                                                  const Allocation& more = {});

// The part for the device, Healthy or not, of the CDI specification of a resource whose spec asks for one.
// Empty: nothing, or allocate() would refuse the device.
CdiEdits cdi_edits(std::string_view resource, const AllocationSpec& spec, const Device& device);

}  // namespace plughost
