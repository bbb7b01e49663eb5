#pragma once
// Finds the card that a pod's annotation names, and the pod that an Allocate is for, and computes what the
// container gets. Pure functions of values, thread-safe.

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

// Return the card's UUID, or its id if it has no UUID; and the card's index, or "" if that is unknown.
std::string uuid_of(const Device& device);
std::string index_of(const Device& device);
AssumedCard assumed_card(const Device& device, const Inventory& inventory);
// Returns the annotation's text for this card.
std::string card_text(const AssumeTerms& terms, const Device& device);

// Returns the Healthy device that the pod's annotation names, or why there is none, as a sentence.
std::variant<const Device*, std::string> card_of(const AssumeTerms& terms, const AskingPod& pod,
                                                 const Inventory& inventory);
// Returns the card that the pod's annotation names, even if Unhealthy; nullptr if there is no such card.
const Device* card_named(const AssumeTerms& terms, const AskingPod& pod, const Inventory& inventory);

// Returns why a container of the pod must not start with the card `given` (see card_in()) of its response, as
// a sentence; empty if the container may start.
std::string why_not_on(const AssumeTerms& terms, const AskingPod& pod, const std::string& given);

// Returns the card of a node that has only one card, if the card is Healthy; nullptr otherwise.
const Device* only_card(const Inventory& inventory);

// Returns the response for `units` units of the device, with the dialect's variables, or why there is none,
// as a sentence. The snapshot's spec must contain `assume`. `spec` is the snapshot's spec, or a reduced copy
// of it. `pod` is nullptr if unknown. For `by_uuid` see card_env(). `without_isolation` sets CGPU_DISABLE.
std::variant<Allocation, std::string> answer_on_card(const ResourceSnapshot& snapshot,
                                                     const AllocationSpec& spec, const Device& device,
                                                     std::uint64_t units, const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation);

// Returns the response for an unknown pod, if AssumeTerms allow such a response; otherwise `why`.
std::variant<Allocation, std::string> answer_without_pod(const ResourceSnapshot& snapshot,
                                                         std::uint64_t units, const std::string& why,
                                                         bool without_isolation);

// Returns the edits that a container gets by the CDI name of a late answer (Identify::kLate). The cards of
// such an entry have no CDI names or annotations of their own, because such a configuration is refused.
std::variant<CdiEdits, std::string> late_edits(const ResourceSnapshot& snapshot, const Device& device,
                                               std::uint64_t units, const AskingPod& pod,
                                               bool without_isolation);

// Returns why the pod does not wait for an Allocate, as the end of a sentence; empty if the pod waits.
std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms);

// The pod that an Allocate is for, determined from the list of pods alone.
struct PodMatch {
  const AskingPod* pod;
  std::vector<std::string>
      containers;  // the containers that the Allocate serves: one, or all of the pod's if their sum fits
};

// Returns the pod that an Allocate of `units` is for. A candidate's next container requests exactly `units`,
// or none of its containers is answered yet and their requests add up to `units`. Candidates are preferred in
// this order: (1) a container is answered already; (2) the card is a Healthy card of the inventory; (3) the
// next container fits alone; (4) the earliest. Rule 2 keeps a pod with an invented card and an early time
// from coming first. Without a candidate, returns why each pod is excluded, as a sentence.
std::variant<PodMatch, std::string> match(std::span<const AskingPod* const> pods, std::uint64_t units,
                                          const AnsweredContainers& answered, const AssumeTerms& terms,
                                          const Inventory& inventory);

// The ids of the resource that the kubelet's checkpoint has for one container: used to verify guesses, and to
// resolve the names of late answers when the container starts.
struct HeldUnits {
  std::string pod_uid;
  std::string container;
  IdSet ids;
};

// The prefix of the CDI names of late answers. No device's name begins with it.
inline constexpr const char* kLateBeginning = "late-";
// Returns the CDI name of a late answer with these ids, without the resource.
std::string late_device(const IdSet& ids);

// Returns the holder of exactly these ids, or why there is none, as a sentence. Containers of one pod may
// hold the ids one after the other.
std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids);

struct Guess {
  IdSet ids;
  std::string pod;  // UID
  std::vector<std::string> containers;
  // The checkpoint's holders of exactly these ids when the Allocate came. They may have ended: the kubelet
  // reuses the ids of an ended pod before it writes the checkpoint again.
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

// Compares a guess with the checkpoint. `old`: the kubelet has had enough time to write these ids.
GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old);

}  // namespace plughost
