#pragma once
// Is the node what its configuration wants? Pure functions of values, thread-safe.

#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "daemon/status/status.hpp"

namespace plughost {

// What is wrong, the worst first: "not attached: example.com/a". A device that is sick is nothing of it,
// unless its entry is required and has no other. Empty: the node is ready.
std::vector<std::string> problems(const DaemonStatus& status);

// What `plughost status --check` says, as node-problem-detector's custom plugin monitor takes it.
struct Readiness {
  // Its exit codes.
  enum class Verdict { kOk = 0, kProblem = 1, kUnknown = 2 };
  // What it cuts a line to, unless it is told otherwise.
  static constexpr std::size_t kMostBytes = 80;

  Verdict verdict = Verdict::kUnknown;
  std::string line;  // ASCII, without a newline
};
// Of a status as DaemonStatus::json() writes it.
Readiness readiness_of(const Json& status);
// why: it is not known.
Readiness unknown_readiness(const std::string& why);

}  // namespace plughost
