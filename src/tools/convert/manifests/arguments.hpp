#pragma once
// The command line and the environment of another plugin, and which plugin they start. Arguments is not
// thread-safe, functions are.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "config/other_plugin.hpp"

namespace plughost {

// The way in which another plugin is started.
struct PluginCommand {
  std::string image;               // image of its container; empty: unknown
  std::vector<std::string> words;  // the words before the first word with '-' are the program
  std::map<std::string, std::string> environment;
  std::string container = {};  // name of the container
  // A line for each of a chart's values: "a.yaml:3:5: migStrategy: becomes MIG_STRATEGY".
  std::vector<std::string> values = {};
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
  // Records what a flag and its variable have become: "becomes gpu.mig".
  void record(std::string_view flag, std::string what) { became_[std::string(flag)] = std::move(what); }
  // Returns the given flags and variables, with what they have become: empty if only the converter knows;
  // nullopt if they were never queried.
  struct Fate {
    std::string name;  // "--mig-strategy" or "MIG_STRATEGY"
    std::string value;
    std::optional<std::string> became;
  };
  std::vector<Fate> fates() const;

 private:
  struct Given {
    std::string flag;
    std::string value;
  };
  std::string image_;
  std::map<std::string, std::string, std::less<>> environment_;
  std::vector<Given> given_;
  std::map<std::string, std::string, std::less<>> became_;  // the queried flags
};

// Splits a command line: a list in JSON, as `kubectl -o jsonpath` prints one, or in YAML; flags at the
// beginnings of lines, with their values after them or on the following lines; or words with a shell's
// blanks, quotation marks and backslashes, and no other syntax. Reports errors at `name`.
std::vector<std::string> words_of(std::string_view text, const std::string& name, Diagnostics& diagnostics);

// Returns true for a text that something fills in before it is used, such as "${VENDOR}" or "{{
// .Values.vendor }}".
bool is_placeholder(std::string_view text);
inline constexpr const char* kFilledInLater =
    " is filled in later; convert what it becomes, as by `flux build kustomization NAME`, `helm template "
    "CHART` or "
    "`envsubst <FILE`";

// Returns the command of a container in a manifest or in a chart's values. Reports invalid words at `place`.
PluginCommand command_of(const Node& container, const std::string& place, Diagnostics& diagnostics);

// Identifies a plugin by its image, its program, or a flag or variable that only it has.
std::optional<OtherPlugin> running_plugin(const PluginCommand& line);
// Returns the image of a device plugin without a converter, with its name if known: "HAMi's device plugin
// (projecthami/hami)". Returns an empty text for any other image.
std::string unknown_plugin(const PluginCommand& line);

}  // namespace plughost
