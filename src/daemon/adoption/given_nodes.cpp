#include "daemon/adoption/given_nodes.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace plughost {
namespace {

// A set of paths, and of the targets of those paths that are links.
class Nodes {
 public:
  explicit Nodes(const Paths& paths) : paths_(paths) {}

  void add(const std::string& path) {
    all_.insert(path);
    all_.insert(paths_.leads_to(path));
  }
  bool have(const std::string& path) const {
    return all_.contains(path) || all_.contains(paths_.leads_to(path));
  }

 private:
  const Paths& paths_;
  std::set<std::string> all_;
};

bool is_part_of(const std::string& unit, const Device& device) {
  return std::ranges::any_of(device.hardware->units, [&](const std::string& its) {
    return unit == its || (unit.starts_with(its) && unit[its.size()] == '/');
  });
}

}  // namespace

Allocation given_of(const std::string& resource, const AllocationSpec& spec, const Inventory& inventory,
                    const Device& device) {
  const std::vector<std::string> ids{replica_id(device, 0)};
  auto answer = allocate(resource, spec, inventory, ids);
  if (auto* given = std::get_if<Allocation>(&answer)) return std::move(*given);
  Allocation given;
  for (const DeviceNode& node : device.nodes)
    given.nodes.push_back({.host_path = node.host_path, .container_path = {}});
  for (const Mount& mount : device.mounts)
    given.mounts.push_back({.host_path = mount.host_path, .container_path = {}});
  return given;
}

bool is_elsewhere(const Device& before, const Device& now) {
  const bool same_place = before.hardware == now.hardware || before.hardware->units == now.hardware->units;
  if (same_place && before.nodes == now.nodes) return false;
  const auto nodes = [](const Device& device) {
    std::set<std::string> paths;
    for (const DeviceNode& node : device.nodes) paths.insert(node.host_path);
    return paths;
  };
  const auto units = [](const Device& device) {
    return std::set<std::string>(device.hardware->units.begin(), device.hardware->units.end());
  };
  return nodes(before) != nodes(now) || units(before) != units(now);
}

Drift drift_of(const std::string& resource, const AllocationSpec& spec, const Allocation& given,
               std::span<const Device* const> devices, const Paths& paths) {
  Nodes now(paths);
  for (const Device* device : devices)
    for (const DeviceNode& node : device->nodes) now.add(node.host_path);
  std::vector<std::string> lost;
  const auto drop = [&](const auto& is_theirs) { std::erase_if(lost, is_theirs); };
  for (const ContainerNode& node : given.nodes) lost.push_back(node.host_path);
  drop([&](const std::string& node) { return now.have(node); });
  if (lost.empty()) return {};

  // Adds the nodes that every device of the entry brings, and the devices' nodes under other names.
  std::vector<Device> well;
  for (const Device* device : devices) well.push_back(*device);
  for (Device& device : well) {
    device.error.clear();
    device.reasons.clear();
  }
  const Inventory inventory(std::move(well));
  for (const Device& device : inventory.devices()) {
    for (const ContainerNode& node : given_of(resource, spec, inventory, device).nodes)
      now.add(node.host_path);
  }
  Drift drift;
  drop([&](const std::string& node) {
    if (now.have(node)) return true;
    const auto unit = paths.unit_of(node);
    if (!unit) return true;
    if (unit->empty()) return false;
    if (std::ranges::any_of(devices, [&](const Device* each) { return is_part_of(*unit, *each); }))
      return true;
    drift.units.push_back(*unit);
    return false;
  });
  if (lost.empty()) return {};
  drift.lost = std::move(lost);
  Nodes had(paths);
  for (const ContainerNode& node : given.nodes) had.add(node.host_path);
  for (const Device* device : devices) {
    const auto is_new = [&](const DeviceNode& node) {
      return !had.have(node.host_path) && paths.unit_of(node.host_path);
    };
    const auto found = std::ranges::find_if(device->nodes, is_new);
    if (found != device->nodes.end()) drift.moved.emplace(device->id, found->host_path);
  }
  return drift;
}

}  // namespace plughost
