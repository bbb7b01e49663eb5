#include "pods/held_units.hpp"

namespace plughost {
namespace {

std::vector<std::string> ids_of(const Checkpoint::PodDevices& some) {
  std::vector<std::string> ids;
  for (const auto& [node, on_node] : some.ids) ids.insert(ids.end(), on_node.begin(), on_node.end());
  return ids;
}

}  // namespace

std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource) {
  std::vector<HeldUnits> held;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource != resource) continue;
    const std::vector<std::string> ids = ids_of(some);
    held.push_back({.pod_uid = some.pod_uid, .container = some.container, .ids = {ids.begin(), ids.end()}});
  }
  return held;
}

AnsweredContainers containers_of(const std::vector<HeldUnits>& held) {
  AnsweredContainers containers;
  for (const HeldUnits& each : held) containers.emplace(each.pod_uid, each.container);
  return containers;
}

const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder) {
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices) {
    if (some.resource == resource && some.pod_uid == holder.pod_uid && some.container == holder.container)
      return some.allocation ? &*some.allocation : nullptr;
  }
  return nullptr;
}

std::set<std::string> late_devices(const Checkpoint& checkpoint) {
  std::set<std::string> devices;
  for (const Checkpoint::PodDevices& some : checkpoint.pod_devices)
    devices.insert(late_device(some.resource, ids_of(some)));
  return devices;
}

}  // namespace plughost
