#pragma once
// The card that a pod's annotation names, the pod that an Allocate is for, and what a container gets. Pure
// functions of values, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/assume/pod.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"
#include "model/device/names.hpp"

namespace plughost {

// Returns the card's UUID, or its id if it has none; and its index, empty if unknown.
std::string uuid_of(const Device& device);
std::string index_of(const Device& device);
AssumedCard assumed_card(const Device& device, const Inventory& inventory);
// Returns the annotation's text for this card.
std::string card_text(const AssumeTerms& terms, const Device& device);

// Returns the Healthy device that the pod's annotation names, or why there is none, as a sentence.
std::variant<const Device*, std::string> card_of(const AssumeTerms& terms, const AskingPod& pod,
                                                 const Inventory& inventory);
// The same for a card that may be Unhealthy; nullptr: there is none.
const Device* card_named(const AssumeTerms& terms, const AskingPod& pod, const Inventory& inventory);

// Returns why a container of the pod must not start with the card in its answer (see card_in()), as a
// sentence; empty: it may start.
std::string why_not_on(const AssumeTerms& terms, const AskingPod& pod, const std::string& given);

// Returns the only card of a node if it is Healthy; nullptr otherwise.
const Device* only_card(const Inventory& inventory);

// Returns the answer for that many units of the device, in the dialect's terms; or why there is none, as a
// sentence. The snapshot's spec has an assume; spec is that spec, possibly reduced. pod: nullptr if unknown.
// by_uuid: as in card_env().
std::variant<Allocation, std::string> answer_on_card(const ResourceSnapshot& snapshot,
                                                     const AllocationSpec& spec, const Device& device,
                                                     std::uint64_t units, const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation);

// The same without a pod, if the terms allow that; `why` otherwise.
std::variant<Allocation, std::string> answer_without_pod(const ResourceSnapshot& snapshot,
                                                         std::uint64_t units, const std::string& why,
                                                         bool without_isolation);

// Returns what the name of a late answer stands for. Such cards have no CDI names or annotations of their
// own, because the configuration is refused otherwise.
std::variant<CdiEdits, std::string> late_edits(const ResourceSnapshot& snapshot, const Device& device,
                                               std::uint64_t units, const AskingPod& pod,
                                               bool without_isolation);

// Returns why the pod is not a candidate for an Allocate, as the end of a sentence; empty: it is.
std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms);

// The pod that an Allocate is for, as far as the pods alone tell.
struct PodMatch {
  const AskingPod* pod;
  std::vector<std::string>
      containers;  // the containers that this answers: one, or all of them if the sum fits
};

// Returns the pod that an Allocate of that many units is for: a candidate whose next container requests
// exactly that, or whose containers, none of them answered, request it together. Among several: one with an
// answered container; then one whose card is a Healthy card of the inventory, so that a pod with an invented
// card and an early time does not precede all others; then one whose next container fits; then the earliest.
// Without a candidate, returns which pods were examined, and why each is excluded, as a sentence.
std::variant<PodMatch, std::string> match(std::span<const AskingPod* const> pods, std::uint64_t units,
                                          const AnsweredContainers& answered, const AssumeTerms& terms,
                                          const Inventory& inventory);

// The kubelet's checkpoint record of one container and the resource. It resolves late answers, whose names
// are resolved when the container starts, and verifies guesses.
struct HeldUnits {
  std::string pod_uid;
  std::string container;
  IdSet ids;
};

// The prefix of these names, which no device's name has.
inline constexpr const char* kLateBeginning = "late-";
// Returns the CDI device's name in the resource's kind.
std::string late_device(const IdSet& ids);

// Returns the holder of exactly these ids, or why there is none, as a sentence. Containers of one pod may
// hold them one after the other.
std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids);

struct Guess {
  IdSet ids;
  std::string pod;  // UID
  std::vector<std::string> containers;
  // The holder of exactly these ids at the time of the Allocate: the kubelet takes ids from a pod that has
  // ended, but its checkpoint shows that only after the next write.
  AnsweredContainers former;
};

// Returns the holders of exactly these ids.
AnsweredContainers holders_of(std::span<const HeldUnits> held, const IdSet& ids);

enum class GuessIs {
  kOpen,   // the checkpoint does not have the ids yet
  kRight,  // the guessed pod holds the ids
  kWrong,  // another pod holds the ids
  kVoid,   // no pod will hold the ids, because the kubelet has refused the pod
};

// Compares a guess with the checkpoint. old: the kubelet has had enough time to write these ids.
GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old);

}  // namespace plughost
