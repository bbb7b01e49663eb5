#pragma once
// What an entry of the configuration says on top of its kind: which devices it takes, how ids and resources
// are named, and what an allocated device brings into a container. Plain values.

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

// What is counted of the healthy cards.
enum class CardCount {
  kCards,
  kCores,  // kCoresOfACard for each
};

// Counts of an entry's cards that the node shows beside its devices, for a scheduler to count with: nothing
// is allocated of them.
struct NodeResourceSpec {
  std::string key;  // the node's: "doslab.io/gpu-count"
  CardCount count = CardCount::kCards;
  bool operator==(const NodeResourceSpec&) const = default;
};

// Why no node's key of that name can be ours, as a sentence; empty: it can.
std::string node_resource_error(std::string_view key);

using NodeResources = std::map<std::string, std::uint64_t>;

// lists: of the entry's resources. A card that is Unhealthy by itself does not count; one whose units are all
// held does.
NodeResources node_resources_of(std::span<const NodeResourceSpec> specs, std::span<const Inventory> lists);

// A node's capacity, as the API server prints it.
using Capacity = std::map<std::string, std::string>;

// Those of wanted that the node does not show. Numbers are compared, not their texts: 1k is 1000. What is 0
// is shown by a node that does not have the key, too.
NodeResources not_shown(const NodeResources& wanted, const Capacity& capacity);

// The merge patch of nodes/NAME/status that makes the node show these; the kubelet copies capacity to
// allocatable with its next update.
Json capacity_patch(const NodeResources& resources);

enum class Dialect { kDoslab, kGpushare, kVolcano };

// How an Allocate is brought together with its pod.
enum class Identify {
  kLate,   // when the container starts: the kubelet's checkpoint says whose ids these are
  kGuess,  // at once: the pod that has waited longest and asks for so much
};

// What an annotation's value names a card by.
enum class CardIs {
  kUuid,
  kIndex,
  kIndexes,  // a list of them; a container's units are on one
};

// The keys of a pod's annotations.
struct AssumeNames {
  std::string time;      // when the scheduler has chosen: nanoseconds
  std::string assigned;  // "false" until a plugin has answered, then "true"
  std::string card;

  bool operator==(const AssumeNames&) const = default;
};

// How a scheduler tells a pod's card: what an entry's `assume` says.
struct AssumeTerms {
  Dialect dialect = Dialect::kDoslab;
  // The sets that users of the dialect have, at least one: a pod's is the first of which it has the time.
  std::vector<AssumeNames> names;
  CardIs card_is = CardIs::kUuid;
  std::optional<Identify> identify;  // not said: late where the entry answers by CDI
  bool only_card = false;            // with one card on the node and no pod to be found it is that card
  bool answer_without_card = false;  // with no pod to be found a container starts, and sees no card
  bool sets_visible = true;          // NVIDIA_VISIBLE_DEVICES is how the runtime is told
  std::uint64_t unit = 1;            // MiB

  bool late() const { return identify == Identify::kLate; }
  bool operator==(const AssumeTerms&) const = default;
};

// Of attributes, "id" among them, each with patterns of which one has to match; a device has to match all of
// the attributes. A pattern matches a value that it is, and what fnmatch(3) says; nothing matches the value
// that a device does not have, or that is empty.
struct DevicePattern {
  std::map<std::string, std::vector<std::string>> attributes;
  std::string where;  // "only[0]", for messages

  bool matches(const Device& device) const;
  bool operator==(const DevicePattern&) const = default;
};

struct Choice {
  std::vector<DevicePattern> only;    // one has to match; none: every device does
  std::vector<DevicePattern> except;  // none may match

  bool operator==(const Choice&) const = default;
};

// A number of replicas for the devices that match one of the patterns.
struct ReplicaRule {
  std::vector<DevicePattern> devices;
  unsigned replicas = 1;
  std::string where;  // "replicas.*T4*"

  bool matches(const Device& device) const;
  bool operator==(const ReplicaRule&) const = default;
};

struct Chosen {
  std::vector<std::string> unmatched;  // where the patterns stand that match none of the devices
  std::vector<std::string> not_named;  // the ids of devices that were left out for Device::if_named alone
};

// Takes out of the devices what is not chosen.
Chosen choose(const Choice& choice, std::vector<Device>& devices);

enum class AllocationPolicy {
  kNone,         // the kubelet chooses, at random
  kPacked,       // fill the devices that are in use already
  kDistributed,  // the device that is least in use, each time
  kSpread,       // of different devices first, and of those the least in use
  kAligned,  // those that are nearest to each other; by NUMA node, and there as kPacked, if no more is known
  kOneCard,  // all of the device that has the fewest free ids of those that have enough
};

// Of which devices the ids of a container have to be, or it gets none.
enum class SharesOf {
  kAny,
  kOneDevice,
  kDifferentDevices,  // each of another
};
// What a card can compute, where that is divided.
inline constexpr unsigned kCoresOfACard = 100;
// What one id stands for of a card that is divided: one of them is set, or it is not divided.
struct CardUnit {
  static constexpr std::uint64_t kMiB = 1u << 20;

  std::uint64_t memory = 0;  // bytes
  unsigned cores = 0;        // of kCoresOfACard

  bool whole() const { return memory == 0 && cores == 0; }
  bool operator==(const CardUnit&) const = default;
};

// How a container runtime is told the names of CDI devices.
enum class CdiNames {
  kNone,         // not at all: nodes and mounts are in the answer itself
  kCri,          // by the kubelet's own field: Kubernetes 1.28 and later
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

// A program that says whether a device is well: it ends with 0.
struct HealthCheckSpec {
  std::vector<Template>
      command;  // the program's absolute path, and its arguments: {resource}, {id}, attributes
  std::chrono::milliseconds interval{10'000};  // from one start to the next
  std::chrono::milliseconds timeout{5'000};
  bool operator==(const HealthCheckSpec&) const = default;
};

// A program that has a part in a device's life: it ends with 0.
struct ProgramSpec {
  std::vector<Template> command;  // as in HealthCheckSpec, or with {resource} alone
  std::chrono::milliseconds timeout{0};
  bool operator==(const ProgramSpec&) const = default;
};

// A program that hears of a device that has been Unhealthy for so long.
struct UnhealthyProgramSpec {
  ProgramSpec program;
  std::chrono::milliseconds after{30'000};
  bool operator==(const UnhealthyProgramSpec&) const = default;
};

// A kind's additions to a container, for the devices that share them: the same templates as in
// AllocationSpec, and {allocation}, a UUID that is made of the resource's name and the devices' ids. A
// variable or an annotation that the entry sets itself is the entry's.
struct KindSpec {
  using Pairs = std::vector<std::pair<Template, Template>>;

  Pairs env;
  Pairs annotations;
  std::vector<MountSpec> mounts;
  std::vector<NodeSpec> nodes;
  std::vector<Template> cdi;  // one name per device, or one for all if no placeholder is the device's

  bool operator==(const KindSpec&) const = default;
};

// In env, mounts, nodes and annotations: {resource} and {count} (of allocated devices) are scalars; where ids
// are units {units} (the container's) and {totalUnits} (all that are listed), too, and with `assume`
// {podUnits}, {pod} and {namespace}; and {cardUnits} (those of its card) belongs to a device, as do others:
// {id}, {n}
// (position in the allocation, from 0) and the kind's attributes belong to a device: in a value they expand
// to the devices' values joined by commas, in the order that the kubelet asked; in a key or a path they make
// one key or path per device.
struct AllocationSpec {
  using Pairs = std::vector<std::pair<Template, Template>>;

  Template name;          // the resource's full name; with placeholders: one resource per distinct value
  Template id;            // empty: the kind's own id. Here {n} is the device's position in the entry
  Choice choice;          // of the kind's devices, those that the entry takes
  unsigned replicas = 1;  // 1 to 10000
  std::vector<ReplicaRule> replicas_of;  // of single devices: the first rule that matches
  bool rename_shared = false;            // a device with replicas belongs to <name>.shared
  bool one_share_only = false;           // a container that asks for several replicas is refused
  AllocationPolicy policy = AllocationPolicy::kNone;
  // The name of another entry: of devices that are equal to the policy, those near that one's come first.
  std::string near;
  // What a container gets of both is of the same card, or it gets nothing.
  bool same_card = false;
  SharesOf shares = SharesOf::kAny;
  bool units = false;  // an id is a part of a card that is divided
  // The card is not that of the kubelet's ids, but the one that the pod's scheduler has chosen.
  std::optional<AssumeTerms> assume;
  bool empty_at_stop = false;  // the kubelet is sent an empty list before the resource ends for good
  bool required = false;       // without a Healthy device of it the node is not ready
  std::chrono::seconds forget_after{300};  // how long a vanished device stays listed as Unhealthy
  std::optional<HealthCheckSpec> health;   // absent: what the scan says is all
  // Prepares a device before each start of a container that has it; the time-out is for all of these.
  std::optional<ProgramSpec> pre_start;
  // Says what a container gets beside what this spec says: docs/exec-allocate.schema.json.
  std::optional<ProgramSpec> allocate;
  // Is run for each device of a resource that is not offered any more.
  std::optional<ProgramSpec> on_remove;
  // Is run once for each bad spell of a device.
  std::optional<UnhealthyProgramSpec> when_unhealthy;
  Pairs env;
  Pairs annotations;
  std::vector<MountSpec> mounts;
  std::vector<NodeSpec> nodes;
  // What belongs to a device alone is in a specification of ours, and the answer has the devices' names.
  CdiNames cdi = CdiNames::kNone;
  // A container's processes are members of the groups of its nodes, whoever they run as. With cdi only.
  bool group_access = false;

  bool operator==(const AllocationSpec&) const = default;
};

// The key by which two entries of one resource say something else of what can only be said of the whole of
// it; empty: they agree.
std::string_view disagreement(const AllocationSpec& one, const AllocationSpec& other);

// What a container gets with the device is said by its own entry; of_resource: by the first of the resource.
inline const AllocationSpec& terms_of(const Device& device, const AllocationSpec& of_resource) {
  return device.terms ? *device.terms : of_resource;
}

}  // namespace plughost
