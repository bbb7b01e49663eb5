#pragma once
// What became of a reload. A value.

#include <string>
#include <vector>

#include "base/json.hpp"
#include "supervisor/changes.hpp"

namespace plughost {

struct ReloadAnswer {
  std::vector<std::string> errors;  // not empty: nothing has changed
  std::vector<std::string> warnings;
  Changes changes;

  Json json() const {
    return {{"errors", errors},
            {"warnings", warnings},
            {"added", changes.added},
            {"changed", changes.changed},
            {"removed", changes.removed},
            {"unchanged", changes.unchanged},
            {"kubeletChanged", changes.kubelet}};
  }
};

}  // namespace plughost
