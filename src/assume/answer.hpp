#pragma once
// What a container gets on the card that its pod's scheduler has chosen. Pure functions of values,
// thread-safe.

#include <cstdint>
#include <string>
#include <variant>

#include "assume/asking_pod.hpp"
#include "device/allocation.hpp"
#include "device/offer.hpp"

namespace plughost {

// For so many units of that device, in the dialect's words and beside them; or why not, as a sentence. The
// offer's recipe has an assume; recipe is that, or what is left of it. pod: nullptr if it is not
// known. by_uuid: as in card_env().
std::variant<Allocation, std::string> answer_on_card(const Offer& offer, const Recipe& recipe,
                                                     const Device& device, std::uint64_t units,
                                                     const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation);

// The same where no pod is found, if the terms have an answer for that; else `why` it is so.
std::variant<Allocation, std::string> answer_without_pod(const Offer& offer, std::uint64_t units,
                                                         const std::string& why, bool without_isolation);

// What the name of a late answer stands for. Where an entry is late a card brings no CDI names and no
// annotations of its own: the configuration is refused otherwise.
std::variant<CdiEdits, std::string> late_edits(const Offer& offer, const Device& device, std::uint64_t units,
                                               const AskingPod& pod, bool without_isolation);

}  // namespace plughost
