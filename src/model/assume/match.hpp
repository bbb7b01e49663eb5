#pragma once
// Which pod an Allocate is for, as far as that can be told from the pods alone. Pure functions of values,
// thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/assume/pod.hpp"
#include "model/device/assume_terms.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Why the pod is none that an Allocate may be for, as what is said after its name; empty: it is one.
std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms);

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

}  // namespace plughost
