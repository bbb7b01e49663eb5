#include <string_view>
#include <unordered_map>

#include "config/config.hpp"

namespace plughost {
namespace {

std::string_view name_of(const ResourceConfig& resource) {
  return resource.recipe->name.text();
}

// With one name, everything else follows from what was written.
bool same(const ResourceConfig& a, const ResourceConfig& b) {
  return a.content == b.content;
}

}  // namespace

ConfigDiff diff(const Config& before, const Config& after) {
  std::unordered_map<std::string_view, const ResourceConfig*> old;
  for (const ResourceConfig& resource : before.resources) old.emplace(name_of(resource), &resource);

  ConfigDiff found;
  for (const ResourceConfig& resource : after.resources) {
    const auto match = old.find(name_of(resource));
    if (match == old.end()) {
      found.added.push_back(&resource);
      continue;
    }
    (same(*match->second, resource) ? found.unchanged : found.changed).push_back(&resource);
    old.erase(match);
  }
  for (const ResourceConfig& resource : before.resources) {
    if (old.contains(name_of(resource))) found.removed.push_back(&resource);
  }
  found.kubelet_changed = before.kubelet != after.kubelet;
  return found;
}

}  // namespace plughost
