#pragma once
// A pod, whoever shows it: the API server, or the kubelet; what of it asks for units of a card; and what is
// written into its annotations. Values and pure functions, thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.hpp"
#include "base/text/words.hpp"
#include "model/device/allocation_spec.hpp"

namespace plughost {

struct Pod {
  struct Container {
    std::string name;
    bool init = false;
    std::map<std::string, std::string, std::less<>> limits;  // quantities, by resource

    bool operator==(const Container&) const = default;
  };

  std::string uid;
  std::string name_space;
  std::string name;
  std::string created;   // RFC 3339, in UTC: such texts are in the order of their times
  bool deleted = false;  // it is being deleted
  std::string phase;
  std::map<std::string, std::string, std::less<>> annotations;
  std::vector<Container> containers;  // in the order of the kubelet's calls: init containers first

  bool operator==(const Pod&) const = default;
};

// Of a v1 Pod. What is not there, or is something else, is left out.
Pod pod_of(const Json& pod);

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
  // Returns the scheduler's time, in nanoseconds since 1970, or that of the pod's creation if that is later:
  // an owner can write any time. An unreadable time, and none, is the last of all.
  std::uint64_t assumed_at() const;
  // The first of its containers that is not among these; nullptr: all are.
  const AskingContainer* next(const AnsweredContainers& answered) const;

  bool operator==(const AskingPod&) const = default;
};

// nullopt: it does not ask for the resource, or has no UID.
std::optional<AskingPod> asking_pod(const Pod& pod, std::string_view resource, const AssumeTerms& terms);

// By the time of the scheduler's choice as in assumed_at(), then by that of creation, then by the scheduler's
// time as it is written, whose clock may be behind the API server's; then by UID.
bool earlier(const AskingPod& one, const AskingPod& other);

// Has the last of its containers been answered? Before that it is not marked: it would be nobody's candidate.
bool all_answered(const AskingPod& pod, const AnsweredContainers& answered);
// Does its annotation say already that it is?
bool marked(const AskingPod& pod);

// That the pod has its card. now: nanoseconds since 1970.
std::string mark_patch(const AssumeTerms& terms, const AskingPod& pod, std::int64_t now);

// Those that hold their units, by the kubelet's checkpoint, and are not marked: whoever had answered them did
// not come to that. A pod that no scheduler has assumed is none of them.
std::vector<const AskingPod*> to_be_marked(std::span<const AskingPod* const> pods,
                                           const AnsweredContainers& holding);

// The schedulers' extenders that choose a card for a pod, and what containers and pods are told in the words
// of each. Sources: gpushare-device-plugin 45fb8b8 (pkg/gpu/nvidia), kube-device-plugin-mini 6c86a30 and
// 8fbcf98 (pkg), volcano-sh/devices 2461bdd (pkg/plugin/nvidia).
inline constexpr Word<Dialect> kDialects[] = {
    {"doslab", Dialect::kDoslab}, {"gpushare", Dialect::kGpushare}, {"volcano", Dialect::kVolcano}};

// The dialect's own terms.
AssumeTerms terms_of(Dialect dialect);

// Is a pod without the annotation `assigned` one that waits?
bool waits_unsaid(Dialect dialect);

// What an answer is made of.
struct AssumedCard {
  std::string uuid;
  std::string index;
  std::uint64_t units = 0;        // of the card
  std::uint64_t memory = 0;       // of the card, in MiB
  std::uint64_t total_units = 0;  // of the node
};

// What a container of so many units gets on that card. by_uuid: NVIDIA_VISIBLE_DEVICES has the UUID whatever
// the dialect does.
std::map<std::string, std::string> card_env(const AssumeTerms& terms, const AssumedCard& card,
                                            std::uint64_t units, std::uint64_t pod_units,
                                            bool by_uuid = false);
// The card of such an environment, as the dialect's annotation names it; empty: it has none.
std::string card_in(const AssumeTerms& terms, const std::map<std::string, std::string>& env);
// What a container gets where no card is found for it, and the terms have it start all the same: gpushare's.
std::map<std::string, std::string> no_card_env(const AssumeTerms& terms, std::uint64_t units,
                                               std::uint64_t card_units);

}  // namespace plughost
