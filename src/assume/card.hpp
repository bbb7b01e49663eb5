#pragma once
// The card that a pod's annotation names. Pure functions of values, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "assume/asking_pod.hpp"
#include "assume/dialects.hpp"
#include "device/assume_terms.hpp"
#include "device/inventory.hpp"

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

// The one Healthy card of a node that has one card; nullptr: it has another number of them, or that is sick.
const Device* only_card(const Inventory& inventory);

}  // namespace plughost
