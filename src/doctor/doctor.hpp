#pragma once
// Looks at a node as an operator would, and says what to do. Only reads. Blocks; any thread.

#include <span>
#include <string_view>

#include "doctor/finding.hpp"
#include "doctor/observed.hpp"
#include "host/host_root.hpp"

namespace plughost {

struct Check {
  std::string_view name;  // for good: docs/doctor.md and people's scripts have it
  std::string_view asks;  // the question that it answers
  // Says kOk as well, so that a reader sees that it was asked; nothing where the question makes no sense.
  Findings (*look)(const HostRoot& host, const Observed& observed);
};

// In the order in which an operator would ask. The one list of them.
std::span<const Check> checks();

// What all checks find. One that fails is a warning that says so.
Findings examine(const HostRoot& host, const Observed& observed);

}  // namespace plughost
