#include "commands/simulate_pods.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "assume/answer.hpp"
#include "assume/card.hpp"
#include "assume/mark.hpp"
#include "assume/match.hpp"
#include "base/text.hpp"
#include "commands/given_file.hpp"
#include "commands/output.hpp"
#include "document/as_json.hpp"
#include "host/device_nodes.hpp"

namespace plughost {
namespace {

std::int64_t time_of_mark() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<AskingPod> pods_in(const std::string& file, const Offer& offer) {
  std::vector<AskingPod> pods;
  for (const Node& node : objects_of_given(file, "Pod", "pods")) {
    const Json json = as_json(node);
    if (json["metadata"]["uid"].text().empty())
      throw std::runtime_error(node.mark.text() +
                               ": the pod has no metadata.uid, which the API server gives it: what `kubectl "
                               "get pods -o yaml` prints has one");
    if (auto pod = asking_pod(json, offer.resource, *offer.recipe->assume)) pods.push_back(std::move(*pod));
  }
  return pods;
}

// One container and what it gets.
struct Told {
  const AskingPod* pod = nullptr;  // nullptr: none is found
  std::vector<std::string> containers{};
  std::uint64_t units = 0;
  std::string card{};  // the device's id; empty: none
  std::variant<Allocation, std::string> answer{};
};

const Device* take_card(const AssumeTerms& terms, const Offer& offer, Told& told) {
  const auto card = card_of(terms, *told.pod, offer.inventory);
  if (const auto* const trouble = std::get_if<std::string>(&card)) {
    told.answer = *trouble;
    return nullptr;
  }
  const Device* const device = std::get<const Device*>(card);
  told.card = device->id;
  return device;
}

Told guessed(const Offer& offer, const std::vector<const AskingPod*>& pods, std::uint64_t units) {
  const AssumeTerms& terms = *offer.recipe->assume;
  Told told{.units = units};
  const auto found = match(pods, units, {}, terms);
  if (const auto* const why = std::get_if<std::string>(&found)) {
    told.answer = answer_without_pod(offer, units, *why, false);
    return told;
  }
  told.pod = std::get<PodMatch>(found).pod;
  told.containers = std::get<PodMatch>(found).containers;
  if (const Device* const device = take_card(terms, offer, told))
    told.answer = answer_on_card(offer, *offer.recipe, *device, units, told.pod, false, false);
  return told;
}

Told late(const Offer& offer, const AskingPod& pod, const AskingContainer& container) {
  Told told{.pod = &pod, .containers = {container.name}, .units = container.units};
  const Device* const device = take_card(*offer.recipe->assume, offer, told);
  if (!device) return told;
  auto edits = late_edits(offer, *device, container.units, pod, false);
  if (auto* const trouble = std::get_if<std::string>(&edits)) {
    told.answer = std::move(*trouble);
    return told;
  }
  Allocation answer;
  answer.by_cdi = std::get<CdiEdits>(std::move(edits));
  told.answer = std::move(answer);
  return told;
}

// The patch after the last of the pod's containers; nullptr: a container is left, or nothing is to be marked.
Json mark_of(const Offer& offer, const Told& told, const AnsweredContainers& answered) {
  if (!told.pod || marked(*told.pod) || !all_answered(*told.pod, answered)) return {};
  return Json::parse(mark_patch(*offer.recipe->assume, *told.pod, time_of_mark()));
}

Json json_of(const Told& told, const Json& mark) {
  Json json{{"units", told.units}};
  if (told.pod) {
    json["pod"] = told.pod->name;
    json["uid"] = told.pod->uid;
    json["containers"] = told.containers;
  }
  if (!told.card.empty()) json["card"] = told.card;
  if (const auto* const why = std::get_if<std::string>(&told.answer)) json["refused"] = *why;
  if (const auto* const answer = std::get_if<Allocation>(&told.answer)) json["answer"] = json_of(*answer);
  if (!mark.is_null()) json["mark"] = mark;
  return json;
}

std::string text_of(const Told& told, const Json& mark) {
  std::string text = "  units       " + std::to_string(told.units) + '\n';
  if (told.pod) text += "  pod         " + printable(told.pod->name) + '\n';
  for (const std::string& name : told.containers) text += "  container   " + printable(name) + '\n';
  if (!told.card.empty()) text += "  card        " + told.card + '\n';
  if (const auto* const why = std::get_if<std::string>(&told.answer)) text += "  refused     " + *why + '\n';
  if (const auto* const answer = std::get_if<Allocation>(&told.answer)) text += text_of(*answer, "  ");
  if (!mark.is_null()) text += "  mark        " + mark.dump() + '\n';
  return text;
}

}  // namespace

int simulate_pods(const HostRoot& host, const Offer& offer, std::optional<std::uint64_t> units,
                  const SimulateOptions& options) {
  const std::vector<AskingPod> all = pods_in(options.pods, offer);
  std::vector<const AskingPod*> pods;
  for (const AskingPod& pod : all) pods.push_back(&pod);
  std::vector<Told> answers;
  const bool is_late = offer.recipe->assume->late();
  if (!is_late) answers.push_back(guessed(offer, pods, units.value_or(1)));
  if (is_late) {
    for (const AskingPod* const pod : pods) {
      for (const AskingContainer& container : pod->containers) {
        if (!pod->ended() && container.units == units.value_or(container.units))
          answers.push_back(late(offer, *pod, container));
      }
    }
    if (answers.empty())
      throw std::runtime_error(offer.resource + ": no container of these pods asks for " +
                               (units ? std::to_string(*units) + " of it" : "it"));
  }

  AnsweredContainers answered;
  bool is_refused = false;
  Json list = Json::Array();
  for (Told& told : answers) {
    if (const auto* const allocation = std::get_if<Allocation>(&told.answer)) {
      if (const std::string missing = missing_device_node(host, *allocation); !missing.empty())
        told.answer = missing;
    }
    const bool refused = std::holds_alternative<std::string>(told.answer);
    is_refused = is_refused || refused;
    if (!refused && told.pod) {
      for (const std::string& container : told.containers) answered.emplace(told.pod->uid, container);
    }
    const Json mark = refused ? Json() : mark_of(offer, told, answered);
    if (options.format == OutputFormat::kTable)
      std::cout << offer.resource << (refused ? " refuses a container\n" : " gives a container\n")
                << text_of(told, mark);
    else
      list.push_back(json_of(told, mark));
  }
  if (options.format != OutputFormat::kTable)
    print(std::cout,
          {{"resource", offer.resource}, {"identify", is_late ? "late" : "guess"}, {"answers", list}},
          options.format);
  return is_refused ? 1 : 0;
}

}  // namespace plughost
