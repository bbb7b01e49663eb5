#include "commands/simulate_pod.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "allocate/allocation_text.hpp"
#include "assume/answer.hpp"
#include "assume/match.hpp"
#include "assume/pod.hpp"
#include "commands/output.hpp"
#include "host/device_nodes.hpp"
#include "pods/held_units.hpp"
#include "pods/pod_source.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

std::vector<AskingPod> asking_pods(const Config& config, const Offer& offer) {
  const auto found = pods_now(config.kubelet.pods_api(), config.api_server);
  if (const auto* const why = std::get_if<std::string>(&found)) throw std::runtime_error(*why);
  std::vector<AskingPod> pods;
  for (const Pod& pod : std::get<std::vector<Pod>>(found)) {
    if (auto asking = asking_pod(pod, offer.resource, *offer.recipe->assume))
      pods.push_back(std::move(*asking));
  }
  return pods;
}

const AskingPod& named(const std::vector<AskingPod>& pods, const std::string& name, const Offer& offer) {
  const auto found = std::ranges::find(pods, name, &AskingPod::name);
  if (found != pods.end()) return *found;
  std::string known;
  for (const AskingPod& pod : pods) known += (known.empty() ? "" : ", ") + printable(pod.name);
  throw std::runtime_error("no pod " + name + " of this node asks for " + offer.resource + "; there are " +
                           (known.empty() ? "none" : known));
}

// Who has units by now. Nobody, where the checkpoint cannot be read.
AnsweredContainers holding(const Config& config, const Offer& offer) {
  try {
    const Checkpoint checkpoint = Checkpoint::read(config.kubelet.directory / kCheckpointName);
    return containers_of(held_units(checkpoint, offer.resource));
  } catch (const std::runtime_error&) {
    return {};
  }
}

std::variant<Allocation, std::string> answer_on(const Offer& offer, const Device& card, const AskingPod& pod,
                                                std::uint64_t units) {
  if (!offer.recipe->assume->late())
    return answer_on_card(offer, *offer.recipe, card, units, &pod, false, false);
  auto edits = late_edits(offer, card, units, pod, false);
  if (auto* const trouble = std::get_if<std::string>(&edits)) return std::move(*trouble);
  Allocation answer;
  answer.by_cdi = std::get<CdiEdits>(std::move(edits));
  return answer;
}

// One container and what it gets.
struct Told {
  const AskingContainer* container;
  std::string card;                              // the device's id; empty: none
  std::variant<Allocation, std::string> answer;  // or why there is none
  std::string other;  // the pod that an Allocate would be taken for; empty: this one
};

Told tell(const HostRoot& host, const Offer& offer, const std::vector<AskingPod>& pods, const AskingPod& pod,
          const AskingContainer& container, const AnsweredContainers& held) {
  const AssumeTerms& terms = *offer.recipe->assume;
  Told told{.container = &container, .card = {}, .answer = {}, .other = {}};
  const auto card = card_of(terms, pod, offer.inventory);
  if (const auto* const trouble = std::get_if<std::string>(&card)) {
    told.answer = *trouble;
    return told;
  }
  const Device& device = *std::get<const Device*>(card);
  told.card = device.id;
  told.answer = answer_on(offer, device, pod, container.units);
  if (const auto* const answer = std::get_if<Allocation>(&told.answer)) {
    if (std::string missing = missing_device_node(host, *answer); !missing.empty())
      told.answer = std::move(missing);
  }
  if (terms.late() || held.contains({pod.uid, container.name})) return told;
  std::vector<const AskingPod*> all;
  for (const AskingPod& each : pods) all.push_back(&each);
  const auto found = match(all, container.units, held, terms, offer.inventory);
  if (const auto* const why = std::get_if<std::string>(&found))
    told.answer = *why;
  else if (std::get<PodMatch>(found).pod != &pod)
    told.other = std::get<PodMatch>(found).pod->name;
  return told;
}

// nullptr: it is marked already.
Json mark_of(const Offer& offer, const AskingPod& pod) {
  if (marked(pod)) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Json::parse(mark_patch(*offer.recipe->assume, pod,
                                std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
}

Json json_of(const Told& told) {
  Json json{{"container", told.container->name}, {"units", told.container->units}};
  if (!told.card.empty()) json["card"] = told.card;
  if (const auto* const why = std::get_if<std::string>(&told.answer)) json["refused"] = *why;
  if (const auto* const answer = std::get_if<Allocation>(&told.answer)) json["answer"] = json_of(*answer);
  if (!told.other.empty()) json["takenFor"] = told.other;
  return json;
}

std::string text_of(const Told& told) {
  std::string text = "  container   " + printable(told.container->name) + '\n';
  text += "    units       " + std::to_string(told.container->units) + '\n';
  if (!told.card.empty()) text += "    card        " + told.card + '\n';
  if (const auto* const why = std::get_if<std::string>(&told.answer))
    text += "    refused     " + *why + '\n';
  if (const auto* const answer = std::get_if<Allocation>(&told.answer)) text += text_of(*answer, "    ");
  if (!told.other.empty())
    text += "    taken for   " + printable(told.other) + ", which was assumed before it\n";
  return text;
}

}  // namespace

int simulate_pod(const HostRoot& host, const Config& config, const Offer& offer, const std::string& name,
                 std::optional<std::uint64_t> units, OutputFormat format) {
  const std::vector<AskingPod> pods = asking_pods(config, offer);
  const AskingPod& pod = named(pods, name, offer);
  AnsweredContainers held = holding(config, offer);
  std::vector<Told> all;
  for (const AskingContainer& container : pod.containers) {
    if (container.units == units.value_or(container.units))
      all.push_back(tell(host, offer, pods, pod, container, held));
    held.emplace(pod.uid, container.name);
  }
  if (all.empty())
    throw std::runtime_error("no container of pod " + name + " asks for " + std::to_string(*units) + " of " +
                             offer.resource);
  const bool refused = std::ranges::any_of(
      all, [](const Told& told) { return std::holds_alternative<std::string>(told.answer); });
  const Json mark = refused ? Json() : mark_of(offer, pod);
  if (format == OutputFormat::kTable) {
    std::cout << offer.resource << (refused ? " refuses pod " : " gives pod ") << printable(pod.name) << '\n';
    for (const Told& told : all) std::cout << text_of(told);
    if (!mark.is_null()) std::cout << "  mark        " << mark.dump() << '\n';
  } else {
    Json containers = Json::Array();
    for (const Told& told : all) containers.push_back(json_of(told));
    print(std::cout,
          {{"resource", offer.resource},
           {"pod", pod.name},
           {"uid", pod.uid},
           {"containers", std::move(containers)},
           {"mark", mark}},
          format);
  }
  return refused ? 1 : 0;
}

}  // namespace plughost
