#pragma once
// What is written into a pod's annotations: merge patches that only the pod of that UID takes. Pure functions
// of values, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assume/asking_pod.hpp"
#include "device/assume_terms.hpp"

namespace plughost {

// Has the last of its containers been answered? Before that it is not marked: it would be nobody's candidate.
bool all_answered(const AskingPod& pod, const AnsweredContainers& answered);
// Does its annotation say already that it is?
bool marked(const AskingPod& pod);

// That the pod has its card. now: nanoseconds since 1970.
std::string mark_patch(const AssumeTerms& terms, const AskingPod& pod, std::int64_t now);
// That its card is another.
std::string card_patch(const AskingPod& pod, const std::string& card);

// Those that hold their units, by the kubelet's checkpoint, and are not marked: whoever had answered them did
// not come to that. A pod that no scheduler has assumed is none of them.
std::vector<const AskingPod*> to_be_marked(std::span<const AskingPod* const> pods,
                                           const AnsweredContainers& holding);

}  // namespace plughost
