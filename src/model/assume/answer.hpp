#pragma once
// The card that a pod's annotation names, and what a container gets on it. Pure functions of values,
// thread-safe.

#include <cstdint>
#include <string>
#include <variant>

#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/assume/dialects.hpp"
#include "model/assume/pod.hpp"
#include "model/device/assume_terms.hpp"
#include "model/device/inventory.hpp"

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

}  // namespace plughost
