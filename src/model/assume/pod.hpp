#pragma once
// A pod, as the API server or the kubelet reports it; its requests for units of a card; the dialects of
// schedulers; and the annotations that are written. Values and pure functions, thread-safe.

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
  std::string created;   // RFC 3339 in UTC, so that texts sort like times
  bool deleted = false;  // the pod is being deleted
  std::string phase;
  std::map<std::string, std::string, std::less<>> annotations;
  std::vector<Container> containers;  // in the order of the kubelet's calls: init containers first

  bool operator==(const Pod&) const = default;
};

// Reads a v1 Pod. Members that are missing or have the wrong type are empty in the result.
Pod pod_of(const Json& pod);

struct AskingContainer {
  std::string name;
  std::uint64_t units = 0;
  bool init = false;

  bool operator==(const AskingContainer&) const = default;
};

// Containers that have been answered, or hold units, by the pod's UID and the container's name.
using AnsweredContainers = std::set<std::pair<std::string, std::string>>;

struct AskingPod {
  // Longer texts, which no cluster's API accepts, are cut.
  static constexpr std::size_t kLongestText = 256;
  static constexpr std::size_t kMostContainers = 256;

  std::string uid;
  std::string name;  // "namespace/name"
  std::string phase;
  std::string created;                      // RFC 3339, so that texts sort like times
  bool deleted = false;                     // the pod is being deleted
  std::vector<AskingContainer> containers;  // with requests for units, in the order of the kubelet's calls
  AssumeNames names;                        // the keys that the pod's annotations use
  // The values of the annotations; nullopt if the pod does not have the annotation.
  std::optional<std::string> time;
  std::optional<std::string> assigned;
  std::optional<std::string> card;

  // Returns the units of its containers without init containers, as the schedulers count them.
  std::uint64_t units() const;
  // Returns true if the pod has ended for good.
  bool ended() const { return phase == "Succeeded" || phase == "Failed"; }
  // Returns the scheduler's time in nanoseconds since 1970, or the pod's creation if that is later, because
  // the pod's owner can write any time. An unreadable or missing time is the latest of all.
  std::uint64_t assumed_at() const;
  // Returns the first container that is not in `answered`; nullptr if all containers are. A pod is marked
  // only then, because a marked pod is no longer a candidate.
  const AskingContainer* next(const AnsweredContainers& answered) const;

  bool operator==(const AskingPod&) const = default;
};

// Returns nullopt if the pod does not request the resource, or has no UID.
std::optional<AskingPod> asking_pod(const Pod& pod, std::string_view resource, const AssumeTerms& terms);

// Compares by assumed_at(), then by creation, then by the scheduler's time as written (its clock may be
// behind the API server's), then by UID.
bool earlier(const AskingPod& one, const AskingPod& other);

// Returns true if the pod's annotation already marks the pod as assigned.
bool marked(const AskingPod& pod);

// Returns the patch that marks the pod as assigned. now: nanoseconds since 1970.
std::string mark_patch(const AssumeTerms& terms, const AskingPod& pod, std::int64_t now);

// Returns the pods that hold their units according to the checkpoint and are not marked: the daemon ended
// between the response and the mark. Leaves out pods that no scheduler has assigned.
std::vector<const AskingPod*> to_be_marked(std::span<const AskingPod* const> pods,
                                           const AnsweredContainers& holding);

// The dialects: scheduler extenders that choose a card for a pod, with their environment variables and
// annotations. Sources: gpushare-device-plugin 45fb8b8 (pkg/gpu/nvidia), kube-device-plugin-mini 6c86a30 and
// 8fbcf98 (pkg), volcano-sh/devices 2461bdd (pkg/plugin/nvidia).
inline constexpr Word<Dialect> kDialects[] = {
    {"doslab", Dialect::kDoslab}, {"gpushare", Dialect::kGpushare}, {"volcano", Dialect::kVolcano}};

// Returns the dialect's default terms.
AssumeTerms terms_of(Dialect dialect);

// Returns true if a pod without the annotation `assigned` waits.
bool waits_unsaid(Dialect dialect);

// The values of a card and its node that card_env() uses.
struct AssumedCard {
  std::string uuid;
  std::string index;
  std::uint64_t units = 0;        // of the card
  std::uint64_t memory = 0;       // of the card, in MiB
  std::uint64_t total_units = 0;  // of the node
};

// Returns the environment of a container with `units` units of the card. With `by_uuid`,
// NVIDIA_VISIBLE_DEVICES has the UUID in every dialect.
std::map<std::string, std::string> card_env(const AssumeTerms& terms, const AssumedCard& card,
                                            std::uint64_t units, std::uint64_t pod_units,
                                            bool by_uuid = false);
// Returns the card that an environment of card_env() names, as in the dialect's annotation; "" if none.
std::string card_in(const AssumeTerms& terms, const std::map<std::string, std::string>& env);
// Returns the environment of a container that starts without a card, as gpushare's plugin sets it.
std::map<std::string, std::string> no_card_env(const AssumeTerms& terms, std::uint64_t units,
                                               std::uint64_t card_units);

}  // namespace plughost
