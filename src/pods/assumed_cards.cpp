#include "pods/assumed_cards.hpp"

#include <chrono>
#include <utility>

#include "assume/pod.hpp"
#include "pods/held_units.hpp"

namespace plughost {
namespace {

// gpushare's: a node so labelled has a kernel that shall not keep containers of one card apart.
constexpr const char* kNoIsolation = "cgpu.disable.isolation";

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::unique_ptr<AssumedCards> AssumedCards::of(Assuming& assuming, const Offer& offer) {
  return offer.recipe->assume->late() ? late_cards(assuming, offer) : guessed_cards(assuming, offer);
}

AssumedCards::AssumedCards(Assuming& assuming, const Offer& offer)
    : assuming_(assuming),
      resource_(offer.resource),
      terms_(*offer.recipe->assume),
      marks_(assuming.loop(), assuming.api_server(), assuming.log()),
      pods_(assuming.loop(), assuming.pods(), resource_, terms_, [this](bool anew) {
        marks_.keep([this](const std::string& uid) { return pods_.book().find(uid) != nullptr; });
        on_pods();
        if (anew) look_for_unmarked();
      }) {
  if (terms_.dialect == Dialect::kGpushare) node_ = assuming.node_watch().follow([] {});
}

bool AssumedCards::without_isolation() const {
  const NodeObject* const node = node_ ? assuming_.node_watch().node() : nullptr;
  if (!node) return false;
  const auto label = node->labels.find(kNoIsolation);
  return label != node->labels.end() && label->second == "true";
}

Holdings AssumedCards::by_annotation(const Holdings& holdings, const Inventory& inventory) const {
  Holdings known = by_card(holdings, resource_, inventory, [&](const Holder& holder) -> const Device* {
    const AskingPod* const pod = pods_.book().find(holder);
    return pod ? card_named(terms_, *pod, inventory) : nullptr;
  });
  return by_name(std::move(known), resource_, [this](const Holder& holder) { return known_as(holder); });
}

Holder AssumedCards::known_as(const Holder& holder) const {
  const AskingPod* const pod = holder.pod_namespace.empty() ? pods_.book().find(holder) : nullptr;
  if (!pod) return holder;
  const std::size_t slash = pod->name.find('/');
  return {.pod_namespace = pod->name.substr(0, slash),
          .pod = pod->name.substr(slash + 1),
          .container = holder.container};
}

void AssumedCards::mark(const AskingPod& pod) {
  marks_.add(pod, mark_patch(terms_, pod, nanoseconds_now()));
  pods_.book().set_marked(pod.uid);
}

void AssumedCards::mark(const std::vector<HeldUnits>& held) {
  for (const AskingPod* const pod : to_be_marked(pods_.book().all(), containers_of(held))) mark(*pod);
}

void AssumedCards::look_for_unmarked() {
  bool unmarked = false;
  for (const AskingPod* const pod : pods_.book().all()) unmarked = unmarked || (pod->time && !marked(*pod));
  if (!unmarked) return;
  assuming_.read_checkpoint(lifetime_.bound([this](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint) mark(held_units(*checkpoint, resource_));
  }));
}

}  // namespace plughost
