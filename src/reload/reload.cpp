#include "reload/reload.hpp"

#include <cstdio>

namespace plughost {

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

Json ConfigurationStatus::json() const {
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
