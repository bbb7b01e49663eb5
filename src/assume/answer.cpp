#include "assume/answer.hpp"

#include <utility>

#include "assume/card.hpp"
#include "assume/dialects.hpp"

namespace plughost {
namespace {

std::optional<UnitsPod> pod_of(const AskingPod* pod) {
  if (!pod) return std::nullopt;
  const std::size_t slash = pod->name.find('/');
  return UnitsPod{
      .name_space = pod->name.substr(0, slash), .name = pod->name.substr(slash + 1), .units = pod->units()};
}

}  // namespace

std::variant<Allocation, std::string> answer_on_card(const Offer& offer, const Recipe& recipe,
                                                     const Device& device, std::uint64_t units,
                                                     const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation) {
  Allocation more;
  const std::uint64_t pod_units = pod ? pod->units() : units;
  more.env =
      card_env(*offer.recipe->assume, assumed_card(device, offer.inventory), units, pod_units, by_uuid);
  if (without_isolation) more.env["CGPU_DISABLE"] = "true";
  auto outcome =
      allocate_device(offer.resource, recipe, device,
                      {.of_container = units, .total = offer.inventory.id_count(), .pod = pod_of(pod)}, more);
  if (auto* const refusal = std::get_if<Refusal>(&outcome)) {
    const std::string who = "resource " + offer.resource + ": ";  // whoever tells it says it, too
    return refusal->text.starts_with(who) ? refusal->text.substr(who.size()) : std::move(refusal->text);
  }
  return std::get<Allocation>(std::move(outcome));
}

std::variant<Allocation, std::string> answer_without_pod(const Offer& offer, std::uint64_t units,
                                                         const std::string& why, bool without_isolation) {
  const AssumeTerms& terms = *offer.recipe->assume;
  if (const Device* const card = terms.only_card ? only_card(offer.inventory) : nullptr)
    // gpushare's plugin names it by its UUID then.
    return answer_on_card(offer, *offer.recipe, *card, units, nullptr, terms.dialect == Dialect::kGpushare,
                          without_isolation);
  if (!terms.answer_without_card) return why;
  const auto cards = offer.inventory.devices();
  Allocation answer;
  answer.env = no_card_env(terms, units, cards.empty() ? 0 : cards.front().replicas);
  return answer;
}

std::variant<CdiEdits, std::string> late_edits(const Offer& offer, const Device& device, std::uint64_t units,
                                               const AskingPod& pod, bool without_isolation) {
  Recipe recipe = *offer.recipe;
  recipe.cdi = CdiNames::kNone;  // all of it is the name's
  auto outcome = answer_on_card(offer, recipe, device, units, &pod, false, without_isolation);
  if (auto* const trouble = std::get_if<std::string>(&outcome)) return std::move(*trouble);
  Allocation& all = std::get<Allocation>(outcome);
  return CdiEdits{.env = std::move(all.env), .mounts = std::move(all.mounts), .nodes = std::move(all.nodes)};
}

}  // namespace plughost
