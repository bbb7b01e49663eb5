#pragma once
// A command line of another plugin. Not thread-safe.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "document/diagnostics.hpp"

namespace plughost {

class Arguments {
 public:
  // Splits text into words as a shell does: blanks, quotes and backslashes, and nothing else. What cannot be
  // split is reported. Words before the first one with '-' are the program.
  Arguments(std::string_view text, Diagnostics& diagnostics);

  bool has(std::string_view flag) const;
  // A flag's value, the last one if it is given several times; empty for a flag without one. nullopt: it is
  // not given. Flags are named without the '-' before them.
  std::optional<std::string> value(std::string_view flag);
  std::vector<std::string> values(std::string_view flag);
  // A flag that is true unless it says false.
  std::optional<bool> truth(std::string_view flag);
  // What nobody has asked for.
  std::vector<std::string> unused() const;

 private:
  struct Given {
    std::string flag;
    std::string value;
  };
  std::vector<Given> given_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace plughost
