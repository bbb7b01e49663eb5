#include "model/assume/answer.hpp"

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

bool names_card(const AssumeTerms& terms, const std::string& text, const Device& device) {
  if (terms.card_is == CardIs::kUuid) return !text.empty() && text == uuid_of(device);
  const auto asked = number_in<unsigned>(text);
  return asked && std::to_string(*asked) == index_of(device);
}

std::string all_cards(const AssumeTerms& terms, const Inventory& inventory) {
  constexpr std::size_t kMostShown = 16;
  std::string text;
  std::size_t shown = 0;
  for (const Device& device : inventory.devices()) {
    if (shown++ == kMostShown) return text + ", …";
    text += (text.empty() ? "" : ", ") + card_text(terms, device);
  }
  return text.empty() ? "none" : text;
}

std::optional<UnitsPod> pod_of(const AskingPod* pod) {
  if (!pod) return std::nullopt;
  const std::size_t slash = pod->name.find('/');
  return UnitsPod{
      .name_space = pod->name.substr(0, slash), .name = pod->name.substr(slash + 1), .units = pod->units()};
}

constexpr std::size_t kMostPodsTold = 5;

bool untouched(const AskingPod& pod, const AnsweredContainers& answered) {
  return std::ranges::none_of(pod.containers, [&](const AskingContainer& each) {
    return answered.contains({pod.uid, each.name});
  });
}

// Returns why an Allocate is not for this waiting pod.
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
  // The waiting pods come first, because only kMostPodsTold pods are named.
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

std::string uuid_of(const Device& device) {
  const std::string uuid = device.value("uuid").value_or("");
  return uuid.empty() ? device.id : uuid;
}

std::string index_of(const Device& device) { return device.value("index").value_or(""); }

AssumedCard assumed_card(const Device& device, const Inventory& inventory) {
  return {.uuid = uuid_of(device),
          .index = index_of(device),
          .units = device.replicas,
          .memory = number_in<std::uint64_t>(device.value("memory").value_or("")).value_or(0),
          .total_units = inventory.id_count()};
}

std::string card_text(const AssumeTerms& terms, const Device& device) {
  return terms.card_is == CardIs::kUuid ? uuid_of(device) : index_of(device);
}

const Device* card_named(const AssumeTerms& terms, const AskingPod& pod, const Inventory& inventory) {
  const auto devices = inventory.devices();
  const auto found = std::ranges::find_if(
      devices, [&](const Device& device) { return pod.card && names_card(terms, *pod.card, device); });
  return found == devices.end() ? nullptr : &*found;
}

std::variant<const Device*, std::string> card_of(const AssumeTerms& terms, const AskingPod& pod,
                                                 const Inventory& inventory) {
  const std::string who = "pod " + printable(pod.name);
  if (!pod.card) return who + " has no annotation " + pod.names.card + ": its scheduler has not set the card";
  const std::string what =
      who + ": its annotation " + pod.names.card + " is \"" + printable(*pod.card) + "\"";
  if (terms.card_is == CardIs::kIndexes && pod.card->find(',') != std::string::npos)
    return what + ", and a container's units are of one card";
  const Device* const device = card_named(terms, pod, inventory);
  if (!device) return what + ", and no card of this node is that; there are " + all_cards(terms, inventory);
  if (!device->error.empty()) return what + ", and that card is Unhealthy: " + device->error;
  return device;
}

std::string why_not_on(const AssumeTerms& terms, const AskingPod& pod, const std::string& given) {
  if (given == pod.card) return {};
  if (pod.card && terms.card_is != CardIs::kUuid) {
    const auto own = number_in<unsigned>(*pod.card);
    if (own && own == number_in<unsigned>(given)) return {};
  }
  const std::string chosen = pod.card ? "chose card " + printable(*pod.card) : "chose none";
  return "the container was given card " + printable(given) + ", but the scheduler " + chosen +
         " for its pod " + printable(pod.name) + " (annotation " + pod.names.card +
         "): plughost took its Allocate for another pod's, or the annotation has changed since. Delete the "
         "pod; its controller creates another";
}

const Device* only_card(const Inventory& inventory) {
  const auto devices = inventory.devices();
  return devices.size() == 1 && devices.front().error.empty() ? &devices.front() : nullptr;
}

std::variant<Allocation, std::string> answer_on_card(const ResourceSnapshot& snapshot,
                                                     const AllocationSpec& spec, const Device& device,
                                                     std::uint64_t units, const AskingPod* pod, bool by_uuid,
                                                     bool without_isolation) {
  Allocation more;
  const std::uint64_t pod_units = pod ? pod->units() : units;
  more.env =
      card_env(*snapshot.spec->assume, assumed_card(device, snapshot.inventory), units, pod_units, by_uuid);
  if (without_isolation) more.env["CGPU_DISABLE"] = "true";
  auto outcome = allocate_device(
      snapshot.resource, spec, device,
      {.of_container = units, .total = snapshot.inventory.id_count(), .pod = pod_of(pod)}, more);
  if (auto* const refusal = std::get_if<Refusal>(&outcome)) {
    const std::string who = "resource " + snapshot.resource + ": ";  // the caller adds this prefix as well
    return refusal->text.starts_with(who) ? refusal->text.substr(who.size()) : std::move(refusal->text);
  }
  return std::get<Allocation>(std::move(outcome));
}

std::variant<Allocation, std::string> answer_without_pod(const ResourceSnapshot& snapshot,
                                                         std::uint64_t units, const std::string& why,
                                                         bool without_isolation) {
  const AssumeTerms& terms = *snapshot.spec->assume;
  if (const Device* const card = terms.only_card ? only_card(snapshot.inventory) : nullptr)
    // In this case gpushare's plugin uses the UUID.
    return answer_on_card(snapshot, *snapshot.spec, *card, units, nullptr,
                          terms.dialect == Dialect::kGpushare, without_isolation);
  if (!terms.answer_without_card) return why;
  const auto cards = snapshot.inventory.devices();
  Allocation answer;
  answer.env = no_card_env(terms, units, cards.empty() ? 0 : cards.front().replicas);
  return answer;
}

std::variant<CdiEdits, std::string> late_edits(const ResourceSnapshot& snapshot, const Device& device,
                                               std::uint64_t units, const AskingPod& pod,
                                               bool without_isolation) {
  AllocationSpec spec = *snapshot.spec;
  spec.cdi = CdiNames::kNone;  // everything is in the name's specification
  auto outcome = answer_on_card(snapshot, spec, device, units, &pod, false, without_isolation);
  if (auto* const error = std::get_if<std::string>(&outcome)) return std::move(*error);
  Allocation& all = std::get<Allocation>(outcome);
  return CdiEdits{.env = std::move(all.env), .mounts = std::move(all.mounts), .nodes = std::move(all.nodes)};
}

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
  // The kubelet processes all containers of one pod before another pod's.
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

std::string late_device(const IdSet& ids) { return kLateBeginning + ids.name; }

std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids) {
  const HeldUnits* found = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != ids) continue;
    if (found && found->pod_uid != each.pod_uid)
      return "the kubelet's checkpoint has these devices for two pods, " + found->pod_uid + " and " +
             each.pod_uid;
    found = &each;
  }
  if (!found)
    return "the kubelet's checkpoint has no container with exactly these " + std::to_string(ids.count) +
           " devices";
  return found;
}

AnsweredContainers holders_of(std::span<const HeldUnits> held, const IdSet& ids) {
  AnsweredContainers holders;
  for (const HeldUnits& each : held) {
    if (each.ids == ids) holders.emplace(each.pod_uid, each.container);
  }
  return holders;
}

GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old) {
  const GuessIs unknown = old ? GuessIs::kVoid : GuessIs::kOpen;
  const HeldUnits* holder = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != guess.ids || guess.former.contains({each.pod_uid, each.container})) continue;
    if (holder && holder->pod_uid != each.pod_uid) return unknown;
    holder = &each;
  }
  if (!holder) return unknown;
  return holder->pod_uid == guess.pod ? GuessIs::kRight : GuessIs::kWrong;
}

}  // namespace plughost
