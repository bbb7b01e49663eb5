#pragma once
// The settings of an entry, without those of its kind: which devices the entry takes, how ids and resources
// are named, and what an allocated device adds to a container. Plain values.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.hpp"
#include "base/text/template.hpp"
#include "model/device/device.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The quantity that is counted on healthy cards.
enum class CardCount {
  kCards,
  kCores,  // kCoresOfACard per card
};

// Counts of an entry's cards that the node reports besides its devices, for schedulers. Nothing is allocated
// from these counts.
struct NodeResourceSpec {
  std::string key;  // the node's key: "doslab.io/gpu-count"
  CardCount count = CardCount::kCards;
  bool operator==(const NodeResourceSpec&) const = default;
};

// Returns why the key cannot be used on a node, as a sentence; empty if it can.
std::string node_resource_error(std::string_view key);

using NodeResources = std::map<std::string, std::uint64_t>;

// Counts the cards in `lists`, the lists of the entry's resources. A card that is Unhealthy by itself does
// not count; a card counts even if all of its units are held.
NodeResources node_resources_of(std::span<const NodeResourceSpec> specs, std::span<const Inventory> lists);

// A node's capacity, as the API server prints it.
using Capacity = std::map<std::string, std::string>;

// Returns the wanted counts that the node does not show. Numbers are compared, not texts: 1k equals 1000. A
// missing key counts as 0.
NodeResources not_shown(const NodeResources& wanted, const Capacity& capacity);

// Returns the merge patch of nodes/NAME/status that sets `resources`. The kubelet copies capacity to
// allocatable with its next update.
Json capacity_patch(const NodeResources& resources);

enum class Dialect { kDoslab, kGpushare, kVolcano };

// How an Allocate is matched with its pod.
enum class Identify {
  kLate,   // when the container starts: by then the kubelet's checkpoint has the pod of the ids
  kGuess,  // at once: the pod that has waited longest for that many units
};

// How an annotation's value identifies a card.
enum class CardIs {
  kUuid,
  kIndex,
  kIndexes,  // a list of indexes; a container's units are on one card
};

// The keys of a pod's annotations.
struct AssumeNames {
  std::string time;      // the scheduler's time, in nanoseconds
  std::string assigned;  // "false" until a plugin has answered, then "true"
  std::string card;

  bool operator==(const AssumeNames&) const = default;
};

// How a scheduler communicates a pod's card: the entry's `assume`.
struct AssumeTerms {
  Dialect dialect = Dialect::kDoslab;
  // The sets of keys that the dialect uses, at least one. A pod uses the first set whose `time` it has.
  std::vector<AssumeNames> names;
  CardIs card_is = CardIs::kUuid;
  std::optional<Identify> identify;  // nullopt, until the entry is read: kLate with `cdi`, else kGuess
  bool only_card = false;            // without a matching pod, a node's only card is used
  bool answer_without_card = false;  // without a matching pod, the container starts and sees no card
  bool sets_visible = true;          // the response sets NVIDIA_VISIBLE_DEVICES
  std::uint64_t unit = 1;            // in MiB

  bool late() const { return identify == Identify::kLate; }
  bool operator==(const AssumeTerms&) const = default;
};

// Patterns by attribute, or by "id": the value of each attribute must match one of the attribute's patterns,
// by equality or by fnmatch(3). A missing or empty value matches no pattern.
struct DevicePattern {
  std::map<std::string, std::vector<std::string>> attributes;
  std::string where;  // the place in the configuration, for messages: "only[0]"

  bool matches(const Device& device) const;
  bool operator==(const DevicePattern&) const = default;
};

struct Choice {
  std::vector<DevicePattern> only;    // one of these must match; empty: every device is taken
  std::vector<DevicePattern> except;  // none may match

  bool operator==(const Choice&) const = default;
};

// The number of replicas of the devices that match one of the patterns.
struct ReplicaRule {
  std::vector<DevicePattern> devices;
  unsigned replicas = 1;
  std::string where;  // the place in the configuration, for messages: "replicas.*T4*"

  bool matches(const Device& device) const;
  bool operator==(const ReplicaRule&) const = default;
};

struct Chosen {
  std::size_t not_in_only = 0;         // devices that no pattern of `only` matches
  std::size_t excepted = 0;            // devices that `except` excludes
  std::vector<std::string> unmatched;  // the places of patterns that match no device
  std::vector<std::string> not_named;  // ids of devices that were left out because of Device::if_named alone
};

// Removes from `devices` the devices that the choice excludes.
Chosen choose(const Choice& choice, std::vector<Device>& devices);

enum class AllocationPolicy {
  kNone,         // the kubelet chooses at random
  kPacked,       // devices in use are filled first
  kDistributed,  // the least used device each time
  kSpread,       // different devices first, the least used of them
  kAligned,      // devices nearest to each other; without such knowledge by NUMA node, and then as kPacked
  kOneCard,      // all from the device with the fewest free ids that suffice
};

// Limits the devices that the ids of one container may belong to. Any other allocation is refused.
enum class SharesOf {
  kAny,
  kOneDevice,
  kDifferentDevices,  // each id must belong to a different device
};
// The number of cores of a card that is divided into cores.
inline constexpr unsigned kCoresOfACard = 100;
// The part of a divided card that one id represents, as memory or as cores. If neither is set, the card is
// not divided.
struct CardUnit {
  static constexpr std::uint64_t kMiB = 1u << 20;

  std::uint64_t memory = 0;  // in bytes
  unsigned cores = 0;        // of kCoresOfACard

  bool whole() const { return memory == 0 && cores == 0; }
  bool operator==(const CardUnit&) const = default;
};

// How CDI names reach the container runtime.
enum class CdiNames {
  kNone,         // not used: nodes and mounts are in the response itself
  kCri,          // by the kubelet's own field, from Kubernetes 1.28
  kAnnotations,  // by an annotation, for older kubelets
};

struct MountSpec {
  Template host_path;
  Template container_path;
  bool read_only = false;
  bool operator==(const MountSpec&) const = default;
};

struct NodeSpec {
  Template host_path;
  Template container_path;
  std::string permissions = "rw";
  bool operator==(const NodeSpec&) const = default;
};

// A program that exits with 0 if a device is healthy.
struct HealthCheckSpec {
  std::vector<Template> command;  // the absolute path and the arguments: {resource}, {id}, attributes
  std::chrono::milliseconds interval{10'000};  // between two starts
  std::chrono::milliseconds timeout{5'000};
  bool operator==(const HealthCheckSpec&) const = default;
};

// A program that is run at an event in a device's life, and must exit with 0.
struct ProgramSpec {
  std::vector<Template> command;  // as in HealthCheckSpec, or with {resource} only
  std::chrono::milliseconds timeout{0};
  bool operator==(const ProgramSpec&) const = default;
};

// A program that is run for a device that has been Unhealthy for a while.
struct UnhealthyProgramSpec {
  ProgramSpec program;
  std::chrono::milliseconds after{30'000};
  bool operator==(const UnhealthyProgramSpec&) const = default;
};

// The additions of a kind to a container, for the devices that share them. Templates are as in
// AllocationSpec, plus {allocation}, a UUID derived from the resource's name and the devices' ids. Variables
// and annotations of the entry take precedence.
struct KindSpec {
  using Pairs = std::vector<std::pair<Template, Template>>;

  Pairs env;
  Pairs annotations;
  std::vector<MountSpec> mounts;
  std::vector<NodeSpec> nodes;
  std::vector<Template> cdi;  // one name per device, or a single name if no placeholder depends on the device

  bool operator==(const KindSpec&) const = default;
};

// The scalar placeholders of env, mounts, nodes and annotations: {resource} and {count} (of allocated
// devices); if ids are units, {units} (of the container) and {totalUnits} (of all listed); with `assume`,
// {podUnits}, {pod} and {namespace}. Placeholders of a device: {id}, {n} (its position in the allocation,
// from 0), {cardUnits} (the units of its card) and the kind's attributes. In a value these expand to the
// devices' values joined by commas, in the kubelet's order; in a key or a path, to one key or path per
// device.
struct AllocationSpec {
  using Pairs = std::vector<std::pair<Template, Template>>;

  Template name;          // the full name of the resource; with placeholders, one resource per distinct value
  Template id;            // empty: the kind's own id; {n} is the device's position in the entry
  Choice choice;          // which of the kind's devices the entry takes
  unsigned replicas = 1;  // 1 to 10000
  std::vector<ReplicaRule> replicas_of;  // for single devices: the first matching rule counts
  bool rename_shared = false;            // a device with replicas belongs to <name>.shared
  bool one_share_only = false;           // several replicas for one container are refused
  AllocationPolicy policy = AllocationPolicy::kNone;
  // The name of another entry: among devices that the policy ranks equal, those near that entry's come first.
  std::string near;
  // A container that gets devices of this resource and of `near` gets the same card, or is refused.
  bool same_card = false;
  SharesOf shares = SharesOf::kAny;
  bool units = false;  // an id is a unit of a divided card
  // The pod's scheduler chooses the card, not the kubelet.
  std::optional<AssumeTerms> assume;
  bool empty_at_stop = false;              // an empty list is sent before the resource ends for good
  bool required = false;                   // the node is not ready without a Healthy device of this entry
  std::chrono::seconds forget_after{300};  // how long a vanished device stays listed as Unhealthy
  std::optional<HealthCheckSpec> health;   // nullopt: only the scan decides
  // Prepares a device before each start of a container. The timeout covers all devices of the container.
  std::optional<ProgramSpec> pre_start;
  // Adds to the response for a container: docs/exec-allocate.schema.json.
  std::optional<ProgramSpec> allocate;
  // Run for each device of a resource that is no longer offered.
  std::optional<ProgramSpec> on_remove;
  // Run once per Unhealthy spell of a device.
  std::optional<UnhealthyProgramSpec> when_unhealthy;
  Pairs env;
  Pairs annotations;
  std::vector<MountSpec> mounts;
  std::vector<NodeSpec> nodes;
  // If used, what belongs to one device is in our CDI specification, and responses have the CDI names.
  CdiNames cdi = CdiNames::kNone;
  // Adds the groups of the nodes to the container's processes, whatever user they run as. Needs `cdi`.
  bool group_access = false;

  bool operator==(const AllocationSpec&) const = default;
};

// Returns a key that must be the same in all entries of a resource, but differs between these two; empty if
// there is none.
std::string_view disagreement(const AllocationSpec& one, const AllocationSpec& other);

// Returns the settings of the device's own entry. `of_resource` are those of the resource's first entry.
inline const AllocationSpec& terms_of(const Device& device, const AllocationSpec& of_resource) {
  return device.terms ? *device.terms : of_resource;
}

}  // namespace plughost
