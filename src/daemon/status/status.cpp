#include "daemon/status/status.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/system/event_loop.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "kubernetes/apiserver/api_server.hpp"

namespace plughost {
namespace {

// `holdings` is nullptr if unknown.
std::vector<const HoldersOfIds::Held*> held_of(const Device& device, const std::string& resource,
                                               const Holdings* holdings) {
  return holdings ? held_ids(*holdings, resource, device) : std::vector<const HoldersOfIds::Held*>();
}

Json nodes_json(const Device& device) {
  Json::Array nodes;
  for (const DeviceNode& node : device.nodes) nodes.emplace_back(node.host_path);
  return nodes;
}

Json drains_json(const DrainSet& drains) {
  Json::Array all;
  for (const auto& [name, drain] : drains.all()) {
    all.push_back({{"resource", name.resource},
                   {"device", name.device},
                   {"reason", drain.reason},
                   {"since", time_json(drain.since)},
                   {"until", time_json(drain.until)}});
  }
  return all;
}

std::optional<WallTime> on_the_wall(std::optional<EventLoop::Clock::time_point> time) {
  if (!time) return std::nullopt;
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(EventLoop::Clock::now() - *time);
}

}  // namespace

Json holders_json(const Device& device, const std::string& resource, const Holdings* holdings) {
  auto held = held_of(device, resource, holdings);
  const auto share = [&](const auto* each) { return share_of(device, each->id); };
  std::ranges::stable_sort(held, {}, share);
  Json::Array holders;
  for (const auto* each : held)
    holders.push_back({{"id", std::string(each->id)},
                       {"namespace", each->holder->pod_namespace},
                       {"pod", each->holder->pod},
                       {"container", each->holder->container}});
  return holders;
}

std::set<Holder> holders_of(const Device& device, const std::string& resource, const Holdings* holdings) {
  std::set<Holder> holders;
  const Holder* last = nullptr;  // skips repetitions quickly: a device can have 48,000 ids
  for (const auto* each : held_of(device, resource, holdings)) {
    if (each->holder.get() != last) holders.insert(*each->holder);
    last = each->holder.get();
  }
  return holders;
}

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kWaiting:
      return "waiting";
    case Stage::kRegistering:
      return "registering";
    case Stage::kAttached:
      return "attached";
    case Stage::kBackingOff:
      return "backing off";
  }
  return "";
}

ResourceStatus::Counts ResourceStatus::counts(const Holdings* holdings) const {
  Counts counts;
  for (const Device& device : snapshot->inventory.devices()) {
    const std::size_t healthy = device.healthy_shares();
    counts.healthy += healthy;
    counts.unhealthy += device.replicas - healthy;
    if (device.in_service()) counts.adopted += device.replicas - healthy;
    if (device.drained()) counts.drained += device.replicas;
    std::optional<std::string_view> last;  // two pods may hold the same id
    for (const auto* each : held_of(device, name, holdings)) {
      if (!last || *last != each->id) ++counts.held;
      last = each->id;
    }
  }
  return counts;
}

Json ResourceStatus::devices_json(const Holdings* holdings) const {
  Json::Array devices;
  for (const Device& device : snapshot->inventory.devices()) {
    devices.push_back({{"id", device.id},
                       {"health", device.healthy() ? "Healthy" : "Unhealthy"},
                       {"reason", device.reason()},
                       {"since", time_json(health_times.since(device.id))},
                       {"numa", device.numa_nodes},
                       {"nodes", nodes_json(device)},
                       {"replicas", device.replicas},
                       {"holders", holders_json(device, name, holdings)}});
  }
  return devices;
}

std::optional<ApiServerStatus> api_server_status(const ApiServer& server) {
  const std::optional<ApiClientState> known = server.state();
  if (!known) return std::nullopt;
  const ApiClientState& state = *known;
  ApiServerStatus status{.requests = server.tally().read().requests};
  status.server = state.server;
  status.identity = state.identity;
  status.node = state.node;
  status.heard_at = on_the_wall(state.heard);
  status.error = state.error;
  status.warnings = state.warnings;
  for (const ApiTally::Watched& watch : state.watches)
    status.watches.push_back({.collection = watch.collection,
                              .objects = watch.objects,
                              .heard_at = on_the_wall(watch.heard),
                              .error = watch.error});
  return status;
}

Json ApiServerStatus::json() const {
  Json told{{"server", server},
            {"identity", identity},
            {"node", node},
            {"heardAt", time_json(heard_at)},
            {"trouble", error},
            {"warnings", warnings},
            {"watches", Json::Array()}};
  for (const Watch& watch : watches)
    told["watches"].push_back({{"collection", watch.collection},
                               {"objects", watch.objects},
                               {"heardAt", time_json(watch.heard_at)},
                               {"trouble", watch.error}});
  return told;
}

Json DaemonStatus::json() const {
  Json told{{"version", version},
            {"node", node},
            {"startedAt", time_json(started_at)},
            {"kubelet", kubelet.json()},
            {"apiServer", api_server ? api_server->json() : Json()},
            {"configuration", configuration.json()},
            {"holdersUnknown", holders_unknown},
            {"drains", drains_json(drains)},
            {"problems", problems(*this)},
            {"resources", Json::Array()}};
  for (const ResourceStatus& resource : resources) told["resources"].push_back(resource.json(holdings.get()));
  for (const EntryStatus& entry : entries) {
    for (const std::string& pattern : entry.unmatched)
      told["unmatched"].push_back({{"entry", entry.name}, {"where", entry.where}, {"pattern", pattern}});
    if (!entry.no_devices.empty())
      told["noDevices"].push_back({{"entry", entry.name}, {"where", entry.where}, {"why", entry.no_devices}});
  }
  return told;
}

namespace {

// Cuts the line to the monitor's limit, as plain ASCII.
std::string cut(const std::string& text) {
  constexpr std::string_view kMore = "...";
  std::string line;
  for (const char c : text) {
    const bool plain = !is_control(c) && static_cast<unsigned char>(c) < 0x80;
    line += plain ? c : '?';
  }
  if (line.size() <= Readiness::kMostBytes) return line;
  line.resize(Readiness::kMostBytes - kMore.size());
  return line.append(kMore);
}

}  // namespace

std::vector<std::string> problems(const DaemonStatus& status) {
  std::vector<std::string> missing;
  if (status.drains.unreadable())
    missing.emplace_back("every device is out of service: drains are unreadable");
  std::vector<std::string> others;
  for (const ResourceStatus& resource : status.resources) {
    if (resource.stage != Stage::kAttached)
      others.push_back("not attached: " + resource.name);
    else if (!resource.disagreement.empty())
      others.push_back("the kubelet counts other devices: " + resource.name);
  }
  for (const EntryStatus& entry : status.entries) {
    const auto of_entry = [&](const ResourceStatus& resource) { return resource.entry == entry.name; };
    const auto offers_one = [&](const ResourceStatus& resource) {
      // A device counts as in service if a pod holds it by an id of another plugin.
      return of_entry(resource) &&
             std::ranges::any_of(resource.snapshot->inventory.devices(), &Device::in_service);
    };
    // An entry whose name has a placeholder may have no resource.
    if (entry.scans_completed == 0 && std::ranges::none_of(status.resources, of_entry))
      others.push_back("not scanned yet: " + entry.name);
    else if (entry.required && std::ranges::none_of(status.resources, offers_one))
      missing.push_back("required, and no device is Healthy: " + entry.name);
    if (entry.stalled) others.push_back("device scan does not end: " + entry.name);
  }
  for (const NotHere& entry : status.configuration.others) {
    if (entry.unknown) others.push_back("cannot determine whether it is for this node: " + entry.name);
  }
  missing.insert(missing.end(), others.begin(), others.end());
  // Several entries of one name can have the same problem; it is reported once.
  std::set<std::string> told;
  std::erase_if(missing, [&](const std::string& problem) { return !told.insert(problem).second; });
  return missing;
}

Readiness readiness_of(const Json& status) {
  const Json::Array& wrong = status["problems"].array();
  if (!wrong.empty()) {
    const std::string more = wrong.size() == 1 ? "" : " (and " + std::to_string(wrong.size() - 1) + " more)";
    // Shortens the problem rather than the count, which matters more than the end of a long name.
    std::string first = cut(wrong.front().text());
    if (first.size() + more.size() > Readiness::kMostBytes) {
      first.resize(Readiness::kMostBytes - more.size() - 3);
      first += "...";
    }
    return {Readiness::Verdict::kProblem, first + more};
  }
  std::int64_t healthy = 0;
  std::int64_t all = 0;
  for (const Json& resource : status["resources"].array()) {
    healthy += resource["devices"]["healthy"].number();
    all += resource["devices"]["healthy"].number() + resource["devices"]["unhealthy"].number();
  }
  const auto resources = static_cast<std::int64_t>(status["resources"].array().size());
  return {Readiness::Verdict::kOk, counted(resources, "resource") + " attached, " + std::to_string(healthy) +
                                       " of " + counted(all, "device") + " Healthy"};
}

Readiness unknown_readiness(const std::string& why) { return {Readiness::Verdict::kUnknown, cut(why)}; }

}  // namespace plughost
