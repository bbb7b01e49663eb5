#pragma once
// The subcommands. Each returns the exit code of the process: 0 success, 1 a negative result, 2 unusable
// input. tools/command_line fills their options, prints their exceptions and then exits with 1. It alone
// includes the parser, which is slow to compile.

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"
#include "config/places.hpp"

namespace plughost {

constexpr int kUsedWrongly = 2;

// kWide: a table with more columns. kName: names alone, one per line, for other commands.
enum class OutputFormat { kTable, kJson, kYaml, kName, kWide };
constexpr bool is_table(OutputFormat format) {
  return format == OutputFormat::kTable || format == OutputFormat::kWide;
}

struct RunOptions {
  std::string config = kConfigFile;
  std::string plugin_directory;  // empty: the configuration's
  std::string control;           // empty: the configuration's
  std::string state_directory = kStateDirectory;
  std::string take_over;  // the control socket of the daemon to replace, if there is one; empty: none
  std::optional<LogLevel> log_level;    // nullopt: the configuration's
  std::optional<LogFormat> log_format;  // as above
};
int run(const RunOptions& options);

struct CheckOptions {
  std::vector<std::string> files;  // "-": standard input
  bool strict = false;
  OutputFormat format = OutputFormat::kTable;
};
int check(const CheckOptions& options);

struct ConvertOptions {
  std::string file;               // empty: none
  std::string arguments;          // empty: none
  std::vector<std::string> near;  // "a.b/c=a.b/d"
  bool explain = false;           // print where each resource comes from and what became of each key instead
};
int convert(const ConvertOptions& options);

struct DiscoverOptions {
  std::string file = kConfigFile;
  std::string explain;  // a resource or an entry; empty: print the devices
  OutputFormat format = OutputFormat::kTable;
};
int discover(const DiscoverOptions& options);

struct SimulateOptions {
  std::string file = kConfigFile;
  std::string what;  // NAME, NAME=3 or NAME=id,id
  std::string pod;   // "namespace/name"; empty: none
  OutputFormat format = OutputFormat::kTable;
};
int simulate(const SimulateOptions& options);

struct FactsOptions {
  std::string config;  // empty: the usual file, if it exists
  std::vector<std::string> paths;
};
int facts(const FactsOptions& options);

struct PlanOptions {
  std::string facts;   // a file, or a directory of files
  std::string file;    // the configuration
  std::string former;  // the previous configuration; empty: none
  OutputFormat format = OutputFormat::kTable;
};
int plan(const PlanOptions& options);

enum class PresetAction { kList, kShow, kEnable, kDisable };

struct PresetOptions {
  PresetAction action = PresetAction::kList;
  std::vector<std::string> names;
  bool here = false;
  std::string config = kConfigFile;
  std::string presets = kPresetDirectory;
  OutputFormat format = OutputFormat::kTable;
};
int preset(const PresetOptions& options);

struct CheckpointOptions {
  std::string file = kKubeletCheckpoint;
  OutputFormat format = OutputFormat::kTable;
};
int checkpoint(const CheckpointOptions& options);

struct DoctorOptions {
  std::string file = kConfigFile;
  bool quiet = false;  // leave out what is in order
  OutputFormat format = OutputFormat::kTable;
};
int doctor(const DoctorOptions& options);

struct SetupOptions {
  std::string config = kConfigFile;
  std::string kubernetes;  // a distribution's name; empty: detected
  std::string root = "/";  // root of the machine that is set up
  bool dry_run = false;
  bool undo = false;
};
int setup(const SetupOptions& options);

struct StatusOptions {
  std::string control;  // empty: see control_socket()
  std::string name;     // empty: every resource
  bool watch = false;
  bool check = false;  // one line and an exit code, for node-problem-detector
  bool here = false;   // the daemon must be in this container
  OutputFormat format = OutputFormat::kTable;
};
int status(const StatusOptions& options);

struct EventsOptions {
  std::string control;  // empty: see control_socket()
  unsigned limit = 0;   // of those that the rest selects; 0: all
  bool follow = false;
  std::string since;                  // duration, "10m"; empty: as far back as the daemon's memory
  std::string resource;               // its name with or without the domain; empty: any
  LogLevel level = LogLevel::kDebug;  // minimum
  OutputFormat format = OutputFormat::kTable;
};
int events(const EventsOptions& options);

struct ReloadOptions {
  std::string control;                // empty: see control_socket()
  std::optional<LogLevel> log_level;  // nullopt: the configuration's
  std::string trial;                  // duration of the trial, "5m"; empty: no trial
  bool keep = false;                  // keeps the configuration on trial
  OutputFormat format = OutputFormat::kTable;
};
int reload(const ReloadOptions& options);

struct UpgradeOptions {
  std::string control;  // empty: see control_socket()
  OutputFormat format = OutputFormat::kTable;
};
// Returns 1 if the running daemon serves on, and kUsedWrongly if none runs or it cannot hand over at all.
int upgrade(const UpgradeOptions& options);

// Prints the JSON schema of the configuration.
struct SchemaOptions {};
int schema(const SchemaOptions& options);

struct ExplainOptions {
  std::string key;  // "resources.gpu.unit"; empty: the top level
};
int explain(const ExplainOptions& options);

struct DrainOptions {
  std::string control;  // empty: see control_socket()
  std::string what;     // NAME=ID, or NAME for every device of the resource
  std::string reason;
  std::string duration;  // "2h"; empty: until undrain
  OutputFormat format = OutputFormat::kTable;
};
int drain(const DrainOptions& options);

struct UndrainOptions {
  std::string control;      // empty: see control_socket()
  std::string what;         // as DrainOptions::what
  bool unreadable = false;  // instead: end the drain of every device because of a damaged file
  OutputFormat format = OutputFormat::kTable;
};
int undrain(const UndrainOptions& options);

// Prints a command's result for programs. `format` must be kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);
// Returns the colour of a table's cell that is a health or a stage; kNone for others.
Colour colour_of(std::string_view cell);

}  // namespace plughost
