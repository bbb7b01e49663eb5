#pragma once
// What became of a reload. A value.

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "supervisor/reconciliation.hpp"
#include "supervisor/status.hpp"

namespace plughost {

struct ReloadAnswer {
  std::vector<std::string> errors;  // not empty: nothing has changed
  std::vector<std::string> warnings;
  Changes changes;
  std::optional<WallTime> trial_until;  // somebody has to keep it by then

  Json json() const {
    return {{"errors", errors},
            {"warnings", warnings},
            {"added", changes.added},
            {"changed", changes.changed},
            {"removed", changes.removed},
            {"unchanged", changes.unchanged},
            {"kubeletChanged", changes.kubelet},
            {"trialUntil", time_json(trial_until)}};
  }
};

}  // namespace plughost
