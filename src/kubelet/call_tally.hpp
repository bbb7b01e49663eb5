#pragma once
// What became of the kubelet's calls to one resource. Thread-safe.

#include <memory>
#include <utility>

#include "base/tally.hpp"

namespace plughost {

struct CallTally {
  explicit CallTally(std::shared_ptr<Durations> its_answers) : answers(std::move(its_answers)) {}

  Counter allocated;  // containers
  Counter allocation_refused;
  Counter started;
  Counter start_refused;
  // Of the answers to Allocate; shared with the other resources.
  const std::shared_ptr<Durations> answers;
};

}  // namespace plughost
