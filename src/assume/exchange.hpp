#pragma once
// What was guessed, and who it was in the end. Pure functions of values, thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assume/asking_pod.hpp"

namespace plughost {

// A new value for the annotation that names a pod's card.
struct NewCard {
  const AskingPod* pod;
  std::string card;
};

// `real`, by the kubelet's checkpoint, has been given the card `given` (as the annotation names it) that was
// meant for another pod: so that annotations say what containers see, and sums stay as the scheduler counted
// them, the two have each other's. The other one is the pod that was `meant`, by its UID, if its annotation
// has that card; else, after an exchange before this one, the first of the rest that has it, asks for as
// much and is no more than waiting. Empty: nothing to exchange. One: nobody has that card.
std::vector<NewCard> exchange(std::span<const AskingPod* const> pods, const AskingPod& real,
                              const std::string& given, const std::string& meant);

}  // namespace plughost
