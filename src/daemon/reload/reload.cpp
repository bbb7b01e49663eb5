#include "daemon/reload/reload.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace plughost {

Reconciliation reconcile(const Config& running, const Config& wanted) {
  Reconciliation plan;
  Changes& changes = plan.changes;
  changes.kubelet = running.kubelet != wanted.kubelet;
  plan.cdi = running.cdi_directory != wanted.cdi_directory ||
             running.kubelet.files_owner() != wanted.kubelet.files_owner();
  std::unordered_map<std::string_view, EntriesOfName> former;
  for (EntriesOfName& entry : by_name(running.resources)) former.emplace(name_of(entry), std::move(entry));
  std::vector<EntriesOfName> added;
  for (EntriesOfName& entry : by_name(wanted.resources)) {
    const std::string& name = name_of(entry);
    const auto before = former.extract(name);
    if (!before) {
      changes.added.push_back(name);
      added.push_back(std::move(entry));
      continue;
    }
    // If the names are equal, the written content decides everything else.
    const bool same =
        std::ranges::equal(before.mapped(), entry, {}, &ResourceConfig::content, &ResourceConfig::content);
    if (same)
      ++changes.unchanged;
    else
      changes.changed.push_back(name);
    if (changes.kubelet) {
      plan.ended.push_back(name);
      plan.begun.push_back(std::move(entry));
    } else {
      (same ? plan.kept : plan.updated).push_back(std::move(entry));
    }
  }
  std::ranges::move(added, std::back_inserter(plan.begun));
  for (const EntriesOfName& entry : by_name(running.resources)) {
    if (former.contains(name_of(entry))) changes.removed.push_back(name_of(entry));
  }
  return plan;
}

Json ReloadAnswer::json() const {
  return {{"errors", errors},
          {"warnings", warnings},
          {"added", changes.added},
          {"changed", changes.changed},
          {"removed", changes.removed},
          {"unchanged", changes.unchanged},
          {"kubeletChanged", changes.kubelet},
          {"trialUntil", time_json(trial_until)}};
}

Json ConfigStatus::json() const {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  Json told{{"files", files},
            {"hash", digits},
            {"loadedAt", time_json(loaded_at)},
            {"refusedAt", time_json(refused_at)},
            {"errors", errors},
            {"trialUntil", time_json(trial_until)},
            {"givenUpAt", time_json(given_up_at)},
            {"givenUpWhy", given_up_why},
            {"notHere", Json::Array()}};
  for (const NotHere& other : others)
    told["notHere"].push_back({{"entry", other.name}, {"where", other.where}, {"why", other.why}});
  return told;
}

}  // namespace plughost
