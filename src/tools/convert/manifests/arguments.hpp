#pragma once
// What another plugin was told on its command line and in its environment. Arguments is not thread-safe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"

namespace plughost {

// As another plugin is started.
struct PluginCommand {
  std::string image;               // of its container; empty: not known
  std::vector<std::string> words;  // those before the first one with '-' are the program
  std::map<std::string, std::string> environment;
};

class Arguments {
 public:
  // A word that belongs to no flag is reported at name.
  Arguments(const PluginCommand& line, const std::string& name, Diagnostics& diagnostics);

  // Another name of a flag.
  void also_called(std::string_view flag, std::string_view other);
  bool has(std::string_view flag) const;
  // A flag's value, the last one if it is given several times; empty for a flag without one. Without the flag
  // that of the variable of its name (`log-level`: LOG_LEVEL). nullopt: it is not given. Flags are named
  // without the '-' before them.
  std::optional<std::string> value(std::string_view flag);
  std::vector<std::string> values(std::string_view flag);
  // A flag that is true unless it says false.
  std::optional<bool> truth(std::string_view flag);
  std::optional<std::string> variable(std::string_view name) const;
  const std::string& image() const { return image_; }
  // Is it known how the program was started? Then what is not here was not given.
  bool complete() const { return !image_.empty() || !environment_.empty(); }
  // Flags that nobody has asked for.
  std::vector<std::string> unused() const;

 private:
  struct Given {
    std::string flag;
    std::string value;
  };
  std::string image_;
  std::map<std::string, std::string, std::less<>> environment_;
  std::vector<Given> given_;
  std::set<std::string, std::less<>> asked_;
};

// A list of words in JSON, as `kubectl -o jsonpath` prints one, or in YAML; or each flag at the beginning of
// a line, and its value behind it or in the lines below; or words as a shell splits them: blanks, quotes and
// backslashes, and nothing else. What cannot be split is reported at name.
std::vector<std::string> words_of(std::string_view text, const std::string& name, Diagnostics& diagnostics);

}  // namespace plughost
