#pragma once
// What the process counts for all of its resources. Thread-safe.

#include <memory>

#include "base/tally.hpp"

namespace plughost {

struct Tallies {
  std::shared_ptr<Durations> answers = std::make_shared<Durations>();  // to Allocate
  Durations recoveries;  // from a kubelet's coming, or a stream's end, to the open stream
  Durations scans;
  Counter kubelets;  // that came
};

}  // namespace plughost
