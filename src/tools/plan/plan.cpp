#include "tools/plan/plan.hpp"

#include <set>
#include <utility>

#include "host/hardware/host_root.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

// Adds the snapshot's resource to the node, or an error if another entry already forms this resource.
// `owners` has the entries' names by resource.
void apply_snapshot(const ResourceSnapshot& snapshot, std::map<std::string, std::string>& owners,
                    PlannedNode& node) {
  const std::string& entry = snapshot.spec->name.text();
  const auto [owner, is_first] = owners.emplace(snapshot.resource, entry);
  if (!is_first) {
    node.errors.push_back("the entries " + owner->second + " and " + entry + " both make " +
                          snapshot.resource + "; the second is refused it");
    return;
  }
  const auto resource = node.resources.try_emplace(snapshot.resource).first;
  for (const Device& device : snapshot.inventory.devices())
    resource->second.devices.emplace(
        device.id, PlannedResource::Device{.replicas = device.replicas, .error = device.error});
}

PlannedChange change_of(const std::string& name, const PlannedResource* before,
                        const PlannedResource* after) {
  static const PlannedResource kNothing;
  PlannedChange change{.resource = name, .before = before, .after = after};
  const auto& old = (before ? *before : kNothing).devices;
  const auto& now = (after ? *after : kNothing).devices;
  for (const auto& [id, device] : now) {
    const auto former = old.find(id);
    if (former == old.end())
      change.added.push_back(id);
    else if (former->second != device)
      change.changed.push_back(id);
  }
  for (const auto& [id, device] : old) {
    if (!now.contains(id)) change.removed.push_back(id);
  }
  return change;
}

}  // namespace

std::size_t PlannedResource::count() const {
  std::size_t all = 0;
  for (const auto& [id, device] : devices) all += device.replicas;
  return all;
}

std::size_t PlannedResource::healthy() const {
  std::size_t all = 0;
  for (const auto& [id, device] : devices) all += device.error.empty() ? device.replicas : 0;
  return all;
}

PlannedNode plan(const Config& config, const Facts& facts) {
  Survey found = survey(config, HostRoot(facts.machine));
  PlannedNode node{.others = std::move(found.others),
                   .errors = std::move(found.errors),
                   .remarks = std::move(found.remarks)};
  node.remarks.insert(node.remarks.end(), found.unmatched.begin(), found.unmatched.end());
  for (const std::string& name : found.undecided) node.resources[name].unknown = true;
  std::map<std::string, std::string> owners;
  for (const ResourceSnapshot& snapshot : found.snapshots) apply_snapshot(snapshot, owners, node);
  return node;
}

std::vector<PlannedChange> changes_between(const PlannedNode& before, const PlannedNode& after) {
  std::set<std::string> names;
  for (const auto* node : {&before, &after}) {
    for (const auto& [name, resource] : node->resources) names.insert(name);
  }
  std::vector<PlannedChange> changes;
  for (const std::string& name : names) {
    const auto find = [&name](const PlannedNode& node) {
      const auto found = node.resources.find(name);
      return found == node.resources.end() ? nullptr : &found->second;
    };
    const PlannedResource* const old = find(before);
    const PlannedResource* const now = find(after);
    if (!old || !now || *old != *now) changes.push_back(change_of(name, old, now));
  }
  return changes;
}

}  // namespace plughost
