// plughost simulate: prints the exact Allocate answer before a pod requests devices.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/hooks/container_programs.hpp"
#include "host/hardware/device_nodes.hpp"
#include "host/hardware/host_root.hpp"
#include "kubernetes/pods/assuming.hpp"
#include "kubernetes/pods/pod_source.hpp"
#include "model/allocate/allocation_text.hpp"
#include "model/allocate/preferred.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/assume/answer.hpp"
#include "model/assume/pod.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

std::vector<AskingPod> asking_pods(const Config& config, const ResourceSnapshot& snapshot) {
  const auto found = pods_now(config.kubelet.pods_api(), config.api_server);
  if (const auto* const why = std::get_if<std::string>(&found)) throw std::runtime_error(*why);
  std::vector<AskingPod> pods;
  for (const Pod& pod : std::get<std::vector<Pod>>(found)) {
    if (auto asking = asking_pod(pod, snapshot.resource, *snapshot.spec->assume))
      pods.push_back(std::move(*asking));
  }
  return pods;
}

const AskingPod& named(const std::vector<AskingPod>& pods, const std::string& name,
                       const ResourceSnapshot& snapshot) {
  const auto found = std::ranges::find(pods, name, &AskingPod::name);
  if (found != pods.end()) return *found;
  std::string known;
  for (const AskingPod& pod : pods) known += (known.empty() ? "" : ", ") + printable(pod.name);
  throw std::runtime_error("no pod " + name + " of this node asks for " + snapshot.resource + "; there are " +
                           (known.empty() ? "none" : known));
}

// Returns the containers that hold units now; none if the checkpoint cannot be read.
AnsweredContainers holding(const Config& config, const ResourceSnapshot& snapshot) {
  try {
    const Checkpoint checkpoint = Checkpoint::read(config.kubelet.directory / kCheckpointName);
    return containers_of(held_units(checkpoint, snapshot.resource));
  } catch (const std::runtime_error&) {
    return {};
  }
}

std::variant<Allocation, std::string> answer_on(const ResourceSnapshot& snapshot, const Device& card,
                                                const AskingPod& pod, std::uint64_t units) {
  if (!snapshot.spec->assume->late())
    return answer_on_card(snapshot, *snapshot.spec, card, units, &pod, false, false);
  auto edits = late_edits(snapshot, card, units, pod, false);
  if (auto* const error = std::get_if<std::string>(&edits)) return std::move(*error);
  Allocation answer;
  answer.by_cdi = std::get<CdiEdits>(std::move(edits));
  return answer;
}

struct Told {
  const AskingContainer* container;
  std::string card;                              // id of the device; empty: none
  std::variant<Allocation, std::string> answer;  // or why there is no answer
  std::string other;  // the pod that an Allocate would be attributed to; empty: this pod
};

Told tell(const HostRoot& host, const ResourceSnapshot& snapshot, const std::vector<AskingPod>& pods,
          const AskingPod& pod, const AskingContainer& container, const AnsweredContainers& held) {
  const AssumeTerms& terms = *snapshot.spec->assume;
  Told told{.container = &container, .card = {}, .answer = {}, .other = {}};
  const auto card = card_of(terms, pod, snapshot.inventory);
  if (const auto* const error = std::get_if<std::string>(&card)) {
    told.answer = *error;
    return told;
  }
  const Device& device = *std::get<const Device*>(card);
  told.card = device.id;
  told.answer = answer_on(snapshot, device, pod, container.units);
  const auto* const answer = std::get_if<Allocation>(&told.answer);
  if (std::string missing = answer ? missing_device_node(host, *answer) : ""; !missing.empty())
    told.answer = std::move(missing);
  if (terms.late() || held.contains({pod.uid, container.name})) return told;
  std::vector<const AskingPod*> all;
  for (const AskingPod& each : pods) all.push_back(&each);
  const auto found = match(all, container.units, held, terms, snapshot.inventory);
  if (const auto* const why = std::get_if<std::string>(&found))
    told.answer = *why;
  else if (std::get<PodMatch>(found).pod != &pod)
    told.other = std::get<PodMatch>(found).pod->name;
  return told;
}

// Returns the mark that the daemon would write; null if the pod is marked already.
Json mark_of(const ResourceSnapshot& snapshot, const AskingPod& pod) {
  if (marked(pod)) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Json::parse(mark_patch(*snapshot.spec->assume, pod,
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

// Prints what the pod's containers get, and returns the exit code. The snapshot's spec must have `assume`.
// `name` is "namespace/name". `units` selects a container; nullopt: any. Throws std::runtime_error if there
// is no answer.
int simulate_pod(const HostRoot& host, const Config& config, const ResourceSnapshot& snapshot,
                 const std::string& name, std::optional<std::uint64_t> units, OutputFormat format) {
  const std::vector<AskingPod> pods = asking_pods(config, snapshot);
  const AskingPod& pod = named(pods, name, snapshot);
  AnsweredContainers held = holding(config, snapshot);
  std::vector<Told> all;
  for (const AskingContainer& container : pod.containers) {
    if (container.units == units.value_or(container.units))
      all.push_back(tell(host, snapshot, pods, pod, container, held));
    held.emplace(pod.uid, container.name);
  }
  if (all.empty())
    throw std::runtime_error("no container of pod " + name + " asks for " + std::to_string(*units) + " of " +
                             snapshot.resource);
  const bool refused = std::ranges::any_of(
      all, [](const Told& told) { return std::holds_alternative<std::string>(told.answer); });
  const Json mark = refused ? Json() : mark_of(snapshot, pod);
  if (format == OutputFormat::kTable) {
    std::cout << snapshot.resource << (refused ? " refuses pod " : " gives pod ") << printable(pod.name)
              << '\n';
    for (const Told& told : all) std::cout << text_of(told);
    if (!mark.is_null()) std::cout << "  mark        " << mark.dump() << '\n';
  } else {
    Json containers = Json::Array();
    for (const Told& told : all) containers.push_back(json_of(told));
    print(std::cout,
          {{"resource", snapshot.resource},
           {"pod", pod.name},
           {"uid", pod.uid},
           {"containers", std::move(containers)},
           {"mark", mark}},
          format);
  }
  return refused ? 1 : 0;
}

std::vector<std::string> healthy_ids(const Inventory& inventory) {
  std::vector<std::string> ids;
  inventory.for_each_share([&](std::string id, const Device& /*device*/, bool is_healthy) {
    if (is_healthy) ids.push_back(std::move(id));
  });
  return ids;
}

std::vector<std::string> chosen_ids(const ResourceSnapshot& snapshot, const std::string& which) {
  const auto count = number_in<std::size_t>(which);
  if (count && snapshot.inventory.find(which) == nullptr) {
    const std::vector<std::string> free = healthy_ids(snapshot.inventory);
    if (*count == 0) throw std::runtime_error("a container requests at least one device");
    if (*count > free.size())
      throw std::runtime_error("this node has " + counted(free.size(), "Healthy device") + " of " +
                               snapshot.resource + " now, whether pods hold them or not, and not " + which);
    return preferred(snapshot.spec->policy, snapshot.inventory, free, {}, *count, {},
                     {.of = snapshot.spec->shares, .same = {}});
  }
  if (which.empty())
    throw std::runtime_error("after '=' comes a number or ids, as in " + snapshot.resource + "=2");
  std::vector<std::string> ids;
  std::istringstream list(which);
  for (std::string id; std::getline(list, id, ',');) ids.push_back(id);
  return ids;
}

const ResourceSnapshot& snapshot_of(const Survey& found, const std::string& name) {
  std::vector<std::string> known;
  for (const ResourceSnapshot& snapshot : found.snapshots) known.push_back(snapshot.resource);
  const std::string whole = full_name(name, known);
  for (const ResourceSnapshot& snapshot : found.snapshots)
    if (snapshot.resource == whole) return snapshot;
  throw std::runtime_error(no_such("resource", name, known));
}

// Returns the 2 of "NAME=2"; nullopt if `what` has no number. Throws std::runtime_error.
std::optional<std::uint64_t> units_asked(const ResourceSnapshot& snapshot, const std::string& what) {
  if (!snapshot.spec->assume)
    throw std::runtime_error(snapshot.resource + ": --pod is for an entry with `assume`");
  const std::size_t equals = what.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const auto units = number_in<std::uint64_t>(what.substr(equals + 1));
  if (units && *units > 0) return units;
  throw std::runtime_error("with --pod give a number of units, as in " + snapshot.resource + "=2");
}

}  // namespace

int simulate(const SimulateOptions& options) {
  const HostRoot host;
  const Config config = given_config(options.file);
  const Survey found = survey(config, host);
  const std::size_t equals = options.what.find('=');
  const ResourceSnapshot& snapshot = snapshot_of(found, options.what.substr(0, equals));
  if (!options.pod.empty())
    return simulate_pod(host, config, snapshot, options.pod, units_asked(snapshot, options.what),
                        options.format);
  if (snapshot.spec->assume)
    throw std::runtime_error(snapshot.resource +
                             ": its pods' scheduler chooses the card (`assume`): name a pod of this node, as "
                             "in --pod default/trainer");
  const std::vector<std::string> ids =
      chosen_ids(snapshot, equals == std::string::npos ? "1" : options.what.substr(equals + 1));
  const auto outcome = allocate_with_program(snapshot, ids);
  if (const auto* why = std::get_if<std::string>(&outcome)) throw std::runtime_error(*why);
  const auto& allocation = std::get<Allocation>(outcome);
  if (const std::string missing = missing_device_node(host, allocation); !missing.empty())
    throw std::runtime_error(snapshot.resource + ": " + missing);

  if (options.format != OutputFormat::kTable) {
    print(std::cout, {{"resource", snapshot.resource}, {"devices", ids}, {"answer", json_of(allocation)}},
          options.format);
    return 0;
  }
  std::cout << snapshot.resource << " gives a container:\n";
  for (const std::string& id : ids) std::cout << "  device      " << id << '\n';
  std::cout << text_of(allocation, "  ");
  return 0;
}

}  // namespace plughost
