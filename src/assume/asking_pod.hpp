#pragma once
// A pod that asks for units of a card. A value.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assume/pod.hpp"
#include "device/assume_terms.hpp"

namespace plughost {

struct AskingContainer {
  std::string name;
  std::uint64_t units = 0;
  bool init = false;

  bool operator==(const AskingContainer&) const = default;
};

// The containers of pods that have been answered, or hold units, by the pod's UID and their own name.
using AnsweredContainers = std::set<std::pair<std::string, std::string>>;

struct AskingPod {
  // What a cluster's API lets through is shorter; what is longer is cut.
  static constexpr std::size_t kLongestText = 256;
  static constexpr std::size_t kMostContainers = 256;

  std::string uid;
  std::string name;  // "namespace/name"
  std::string phase;
  std::string created;                      // RFC 3339: such texts are in the order of their times
  bool deleted = false;                     // it is being deleted
  std::vector<AskingContainer> containers;  // that ask for units, in the order of the kubelet's calls
  AssumeNames names;                        // the set that its annotations are of
  std::optional<std::string> time;
  std::optional<std::string> assigned;
  std::optional<std::string> card;

  // Of its containers that are no init containers: what the schedulers count.
  std::uint64_t units() const;
  // Over for good: nothing of it runs any more, or will.
  bool ended() const { return phase == "Succeeded" || phase == "Failed"; }
  // An unreadable time, and none, is the last of all.
  std::uint64_t assumed_at() const;
  // The first of its containers that is not among these; nullptr: all are.
  const AskingContainer* next(const AnsweredContainers& answered) const;

  bool operator==(const AskingPod&) const = default;
};

// nullopt: it does not ask for the resource, or has no UID.
std::optional<AskingPod> asking_pod(const Pod& pod, std::string_view resource, const AssumeTerms& terms);

// By the time of the scheduler's choice, then by that of making, then by UID.
bool earlier(const AskingPod& one, const AskingPod& other);

}  // namespace plughost
