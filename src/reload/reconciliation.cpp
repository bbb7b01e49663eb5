#include "reload/reconciliation.hpp"

#include <string_view>
#include <unordered_map>

#include "plugin/served_resource.hpp"

namespace plughost {

Reconciliation reconcile(const Config& running, const Config& wanted) {
  Reconciliation plan;
  Changes& changes = plan.changes;
  changes.kubelet = running.kubelet != wanted.kubelet;
  plan.cdi = running.cdi != wanted.cdi || running.kubelet.directory != wanted.kubelet.directory;
  std::unordered_map<std::string_view, const ResourceConfig*> former;
  for (const ResourceConfig& entry : running.resources) former.emplace(entry.recipe->name.text(), &entry);
  std::vector<const ResourceConfig*> added;
  for (const ResourceConfig& entry : wanted.resources) {
    const std::string& name = entry.recipe->name.text();
    const auto before = former.extract(name);
    if (!before) {
      changes.added.push_back(name);
      added.push_back(&entry);
      continue;
    }
    // With one name, everything else follows from what was written.
    const bool same = before.mapped()->content == entry.content;
    if (same)
      ++changes.unchanged;
    else
      changes.changed.push_back(name);
    if (changes.kubelet || (!same && options_of(*before.mapped()->recipe) != options_of(*entry.recipe))) {
      plan.ended.push_back(name);
      plan.begun.push_back(&entry);
    } else {
      (same ? plan.kept : plan.updated).push_back(&entry);
    }
  }
  plan.begun.insert(plan.begun.end(), added.begin(), added.end());
  for (const ResourceConfig& entry : running.resources) {
    if (former.contains(entry.recipe->name.text())) changes.removed.push_back(entry.recipe->name.text());
  }
  return plan;
}

}  // namespace plughost
