#pragma once
// The schedulers' extenders that choose a card for a pod, and what containers and pods are told in the words
// of each. Pure functions of values, thread-safe. Sources: gpushare-device-plugin 45fb8b8 (pkg/gpu/nvidia),
// kube-device-plugin-mini 6c86a30 and 8fbcf98 (pkg), volcano-sh/devices 2461bdd (pkg/plugin/nvidia).

#include <cstdint>
#include <map>
#include <string>

#include "base/text/words.hpp"
#include "model/device/assume_terms.hpp"

namespace plughost {

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
