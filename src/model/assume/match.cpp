#include "model/assume/match.hpp"

#include <algorithm>

#include "base/text/text.hpp"
#include "model/assume/answer.hpp"
#include "model/assume/dialects.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostPodsTold = 5;

bool untouched(const AskingPod& pod, const AnsweredContainers& answered) {
  return std::ranges::none_of(pod.containers, [&](const AskingContainer& each) {
    return answered.contains({pod.uid, each.name});
  });
}

// Why it is not this candidate.
std::string why_not(const AskingPod& pod, const AnsweredContainers& answered) {
  const AskingContainer* const next = pod.next(answered);
  if (!next) return "each of its containers has been answered";
  return "its container " + printable(next->name) + " asks for " + std::to_string(next->units);
}

std::string nobody(std::span<const AskingPod* const> pods, std::uint64_t units,
                   const AnsweredContainers& answered, const AssumeTerms& terms) {
  std::string text = "no pod on this node waits for " + counted(units, "unit");
  if (pods.empty()) return text + ": there is none that asks for any";
  std::vector<const AskingPod*> in_order(pods.begin(), pods.end());
  std::ranges::sort(in_order,
                    [](const AskingPod* one, const AskingPod* other) { return earlier(*one, *other); });
  // Of many those that wait are told.
  std::stable_partition(in_order.begin(), in_order.end(),
                        [&](const AskingPod* pod) { return why_no_candidate(*pod, terms).empty(); });
  std::size_t told = 0;
  for (const AskingPod* const pod : in_order) {
    if (told++ == kMostPodsTold) {
      text += "; and " + std::to_string(pods.size() - kMostPodsTold) + " more";
      break;
    }
    const std::string why = why_no_candidate(*pod, terms);
    text += (told == 1 ? ": " : "; ") + printable(pod->name) + ": " +
            (why.empty() ? why_not(*pod, answered) : why);
  }
  return text;
}

}  // namespace

std::string why_no_candidate(const AskingPod& pod, const AssumeTerms& terms) {
  if (pod.phase != "Pending") return "it is " + (pod.phase.empty() ? "in no phase" : printable(pod.phase));
  if (pod.deleted) return "it is being deleted";
  if (!pod.time) return "it has no annotation " + pod.names.time + ", which its scheduler writes";
  if (!pod.assigned) return waits_unsaid(terms.dialect) ? "" : "it has no annotation " + pod.names.assigned;
  if (*pod.assigned != "false")
    return "its annotation " + pod.names.assigned + " is \"" + printable(*pod.assigned) + "\"";
  return {};
}

std::variant<PodMatch, std::string> match(std::span<const AskingPod* const> pods, std::uint64_t units,
                                          const AnsweredContainers& answered, const AssumeTerms& terms,
                                          const Inventory& inventory) {
  struct Candidate {
    const AskingPod* pod;
    const AskingContainer* next;  // nullptr: all of its containers
    bool begun;
    bool healthy;
  };
  std::vector<Candidate> candidates;
  for (const AskingPod* const pod : pods) {
    if (!why_no_candidate(*pod, terms).empty()) continue;
    const AskingContainer* const next = pod->next(answered);
    const bool begun = !untouched(*pod, answered);
    const bool fits = next && next->units == units;
    if (!fits && (begun || pod->units() != units)) continue;
    const Device* const card = card_named(terms, *pod, inventory);
    candidates.push_back(
        {.pod = pod, .next = fits ? next : nullptr, .begun = begun, .healthy = card && card->error.empty()});
  }
  if (candidates.empty()) return nobody(pods, units, answered, terms);
  // The kubelet goes through one pod's containers before it comes to another's.
  const auto sooner = [](const Candidate& one, const Candidate& other) {
    if (one.begun != other.begun) return one.begun;
    if (one.healthy != other.healthy) return one.healthy;
    if (!one.next != !other.next) return one.next != nullptr;
    return earlier(*one.pod, *other.pod);
  };
  const Candidate& first = *std::ranges::min_element(candidates, sooner);
  PodMatch found{.pod = first.pod};
  for (const AskingContainer& each : first.pod->containers) {
    if (!first.next || first.next == &each) found.containers.push_back(each.name);
  }
  return found;
}

}  // namespace plughost
