#pragma once
// How a scheduler tells a pod's card: what an entry's `assume` says. A plain value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plughost {

enum class Dialect { kDoslab, kGpushare, kVolcano };

// How an Allocate is brought together with its pod.
enum class Identify {
  kLate,   // when the container starts: the kubelet's checkpoint says whose ids these are
  kGuess,  // at once: the pod that has waited longest and asks for so much
};

// What an annotation's value names a card by.
enum class CardIs {
  kUuid,
  kIndex,
  kIndexes,  // a list of them; a container's units are on one
};

// The keys of a pod's annotations.
struct AssumeNames {
  std::string time;      // when the scheduler has chosen: nanoseconds
  std::string assigned;  // "false" until a plugin has answered, then "true"
  std::string card;

  bool operator==(const AssumeNames&) const = default;
};

struct AssumeTerms {
  Dialect dialect = Dialect::kDoslab;
  // The sets that users of the dialect have, at least one: a pod's is the first of which it has the time.
  std::vector<AssumeNames> names;
  CardIs card_is = CardIs::kUuid;
  std::optional<Identify> identify;  // not said: late where the entry answers by CDI
  bool only_card = false;            // with one card on the node and no pod to be found it is that card
  bool answer_without_card = false;  // with no pod to be found a container starts, and sees no card
  bool sets_visible = true;          // NVIDIA_VISIBLE_DEVICES is how the runtime is told
  std::uint64_t unit = 1;            // MiB

  bool late() const { return identify == Identify::kLate; }
  bool operator==(const AssumeTerms&) const = default;
};

}  // namespace plughost
