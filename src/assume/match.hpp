#pragma once
// Which pod an Allocate is for, as far as that can be told from the pods alone. Pure functions of values,
// thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "assume/pod.hpp"
#include "device/assume_terms.hpp"

namespace plughost {

// Why the pod is none that an Allocate may be for, as what is said after its name; empty: it is one.
std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms);

struct PodMatch {
  const AskingPod* pod;
  std::vector<std::string> containers;  // that this answers: one; or all of them, where the sum fits
};

// For so many units: of the candidates, those of which a container has been answered before the others, and
// then the earliest first, the first whose next container asks for exactly that; else the first, of which no
// container is answered, whose containers' sum is that. Or which pods were looked at, and why it is none of
// them, as a sentence.
std::variant<PodMatch, std::string> match(std::span<const AskingPod* const> pods, std::uint64_t units,
                                          const AnsweredContainers& answered, const AssumeTerms& terms);

}  // namespace plughost
