#include "supervisor/reconciliation.hpp"

#include <unordered_map>

#include "kubelet/plugin_options.hpp"

namespace plughost {

Reconciliation reconcile(const Config& running, const Config& wanted) {
  const ConfigDiff difference = diff(running, wanted);
  Reconciliation plan;
  plan.kubelet = difference.kubelet_changed;
  plan.cdi = running.cdi != wanted.cdi || running.kubelet.directory != wanted.kubelet.directory;
  for (const ResourceConfig* entry : difference.removed) plan.retired.push_back(entry->recipe->name.text());

  std::unordered_map<std::string_view, const ResourceConfig*> former;
  for (const ResourceConfig& entry : running.resources) former.emplace(entry.recipe->name.text(), &entry);
  const auto begin_anew = [&](const ResourceConfig* entry) {
    plan.ended.push_back(entry->recipe->name.text());
    plan.begun.push_back(entry);
  };
  for (const ResourceConfig* entry : difference.unchanged) {
    if (plan.kubelet)
      begin_anew(entry);
    else
      plan.kept.push_back(entry);
  }
  for (const ResourceConfig* entry : difference.changed) {
    const Recipe& before = *former.at(entry->recipe->name.text())->recipe;
    const bool moves = (before.dra == nullptr) != (entry->recipe->dra == nullptr);
    if (plan.kubelet || moves || options_of(before) != options_of(*entry->recipe))
      begin_anew(entry);
    else
      plan.updated.push_back(entry);
  }
  plan.begun.insert(plan.begun.end(), difference.added.begin(), difference.added.end());
  return plan;
}

}  // namespace plughost
