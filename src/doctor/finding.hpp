#pragma once
// What a check has found. Plain values.

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace plughost
