#pragma once
// The command line and the environment of another plugin. Arguments is not thread-safe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"

namespace plughost {

// The way in which another plugin is started.
struct PluginCommand {
  std::string image;               // image of its container; empty: unknown
  std::vector<std::string> words;  // the words before the first word with '-' are the program
  std::map<std::string, std::string> environment;
};

class Arguments {
 public:
  // Reports words that belong to no flag as errors at the place `name`.
  Arguments(const PluginCommand& line, const std::string& name, Diagnostics& diagnostics);

  // Declares another name of a flag.
  void also_called(std::string_view flag, std::string_view other);
  bool has(std::string_view flag) const;
  // Returns the value of a flag, the last one if it is repeated; an empty text for a flag without a value. If
  // the flag is absent, returns the variable of its name (`log-level`: LOG_LEVEL); nullopt: neither is given.
  // Flags are named without leading '-'.
  std::optional<std::string> value(std::string_view flag);
  std::vector<std::string> values(std::string_view flag);
  // Returns the value of a flag that is true unless its value is false.
  std::optional<bool> truth(std::string_view flag);
  std::optional<std::string> variable(std::string_view name) const;
  const std::string& image() const { return image_; }
  // Returns true if it is known how the plugin is started, so that absent flags were not given.
  bool complete() const { return !image_.empty() || !environment_.empty(); }
  // Returns the flags that were never queried.
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

// Splits a command line: a list in JSON, as `kubectl -o jsonpath` prints one, or in YAML; flags at the
// beginnings of lines, with their values after them or on the following lines; or words with a shell's
// blanks, quotation marks and backslashes, and no other syntax. Reports errors at `name`.
std::vector<std::string> words_of(std::string_view text, const std::string& name, Diagnostics& diagnostics);

}  // namespace plughost
