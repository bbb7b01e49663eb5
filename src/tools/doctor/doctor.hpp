#pragma once
// Looks at a node as an operator would, and says what to do. Only reads. Blocks; any thread.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "tools/doctor/observed.hpp"

namespace plughost {

enum class Level {
  kOk,
  kNote,     // worth knowing; nothing has to be done
  kWarning,  // something does not work, or will not one day
  kProblem,  // containers do not get what the configuration promises
};
std::string_view name_of(Level level);

struct Finding {
  Level level = Level::kOk;
  std::string where;    // a path, a process, a resource
  std::string what;     // a sentence without its full stop; text of others is in it as it is
  std::string why;      // why it matters; empty if it is ok
  std::string advice;   // what to do; empty if it is ok
  std::string check{};  // the name of the check that found it

  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

struct Check {
  std::string_view name;  // for good: docs/doctor.md and people's scripts have it
  std::string_view asks;  // the question that it answers
  // Says kOk as well, so that a reader sees that it was asked; nothing where the question makes no sense.
  Findings (*run)(const HostRoot& host, const Observed& observed);
};

// In the order in which an operator would ask. The one list of them.
std::span<const Check> checks();

// What all checks find. One that fails is a warning that says so.
Findings examine(const HostRoot& host, const Observed& observed);

}  // namespace plughost
