#include "daemon/status/status.hpp"

#include <algorithm>
#include <chrono>

#include "base/system/event_loop.hpp"
#include "base/text/text.hpp"
#include "daemon/status/readiness.hpp"
#include "kubernetes/apiserver/api_server.hpp"

namespace plughost {
namespace {

// holdings: nullptr if they are not known.
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
  const Holder* last = nullptr;  // of 48,000 ids
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
    std::optional<std::string_view> last;  // two pods may hold one id
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
  }
  return told;
}

}  // namespace plughost
