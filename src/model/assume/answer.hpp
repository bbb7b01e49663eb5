#pragma once
// The card that a pod's annotation names, and what a container gets on it. Pure functions of values,
// thread-safe.

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

// The card's UUID, its own or, without one, its id; and its index: empty where nothing is known of it.
std::string uuid_of(const Device& device);
std::string index_of(const Device& device);
AssumedCard assumed_card(const Device& device, const Inventory& inventory);
// What the annotation would say for this card.
std::string card_text(const AssumeTerms& terms, const Device& device);

// The inventory's Healthy device that the pod's annotation names; or why there is none, as a sentence.
std::variant<const Device*, std::string> card_of(const AssumeTerms& terms, const AskingPod& pod,
                                                 const Inventory& inventory);
// The same of a card that may be Unhealthy: nullptr if there is none.
const Device* card_named(const AssumeTerms& terms, const AskingPod& pod, const Inventory& inventory);

// Why a container of the pod must not start with that card, which its answer has given it (see card_in()), as
// a sentence; empty: it may start.
std::string why_not_on(const AssumeTerms& terms, const AskingPod& pod, const std::string& given);

// The one Healthy card of a node that has one card; nullptr: it has another number of them, or that is sick.
const Device* only_card(const Inventory& inventory);

// For so many units of that device, in the dialect's words and beside them; or why not, as a sentence. The
// snapshot's spec has an assume; spec is that, or what is left of it. pod: nullptr if it is not
// known. by_uuid: as in card_env().
std::variant<Allocation, std::string> answer_on_card(const ResourceSnapshot& snapshot,
                                                     const AllocationSpec& spec, const Device& device,
                                                     std::uint64_t units, const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation);

// The same where no pod is found, if the terms have an answer for that; else `why` it is so.
std::variant<Allocation, std::string> answer_without_pod(const ResourceSnapshot& snapshot,
                                                         std::uint64_t units, const std::string& why,
                                                         bool without_isolation);

// What the name of a late answer stands for. Where an entry is late a card brings no CDI names and no
// annotations of its own: the configuration is refused otherwise.
std::variant<CdiEdits, std::string> late_edits(const ResourceSnapshot& snapshot, const Device& device,
                                               std::uint64_t units, const AskingPod& pod,
                                               bool without_isolation);

// Why the pod is none that an Allocate may be for, as what is said after its name; empty: it is one.
std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms);

// Which pod an Allocate is for, as far as that can be told from the pods alone.
struct PodMatch {
  const AskingPod* pod;
  std::vector<std::string> containers;  // that this answers: one; or all of them, where the sum fits
};

// Returns the pod that an Allocate of so many units is for: a candidate whose next container asks for exactly
// that, or whose containers, of which none is answered, ask for that together. Of several it is one of which
// a container has been answered; else one whose card is a Healthy one of the inventory, lest a pod whose
// owner invents a card and an early time is taken for every other pod; else one whose next container fits;
// else the earliest. If there is none, returns which pods were examined, and why it is none of them, as a
// sentence.
std::variant<PodMatch, std::string> match(std::span<const AskingPod* const> pods, std::uint64_t units,
                                          const AnsweredContainers& answered, const AssumeTerms& terms,
                                          const Inventory& inventory);

// Who holds a resource's units by the kubelet's checkpoint: for an answer that is a name, and what that
// stands for is decided when the container starts; and for one of which it was guessed which pod it is for.
// What the kubelet's checkpoint says of one container and the resource.
struct HeldUnits {
  std::string pod_uid;
  std::string container;
  IdSet ids;
};

// How each of these names begins, and no device's own.
inline constexpr const char* kLateBeginning = "late-";
// The CDI device's name, in the resource's kind.
std::string late_device(const IdSet& ids);

// Who holds exactly these ids. Containers of one pod may, one after the other. Or why nobody can be told, as
// a sentence.
std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids);

struct Guess {
  IdSet ids;
  std::string pod;  // its UID
  std::vector<std::string> containers;
  // Who held exactly these ids when they were asked for: the kubelet takes them from a pod that has ended,
  // and its checkpoint says so only when it is next written.
  AnsweredContainers former;
};

// Who holds exactly these ids.
AnsweredContainers holders_of(std::span<const HeldUnits> held, const IdSet& ids);

enum class GuessIs {
  kOpen,   // the checkpoint does not have the ids yet
  kRight,  // the guessed pod holds the ids
  kWrong,  // another pod holds the ids
  kVoid,   // no pod will hold the ids: the kubelet has refused the pod
};

// Compares a guess with the checkpoint. old: the kubelet has had the time to write these ids.
GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old);

}  // namespace plughost
