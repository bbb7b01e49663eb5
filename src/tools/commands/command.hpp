#pragma once
// The subcommands. Each returns the exit code of the process: 0 success, 1 a negative result, 2 unusable
// input. command_line.cpp fills their options, prints their exceptions and then exits with 1. It is the only
// file that includes the parser, which is slow to compile.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log_line.hpp"
#include "base/text/json.hpp"
#include "config/places.hpp"

namespace plughost {

constexpr int kUsedWrongly = 2;

enum class OutputFormat { kTable, kJson, kYaml };

struct RunOptions {
  std::string config = kConfigFile;
  std::string plugin_directory;  // empty: the configuration's
  std::string control;           // empty: the configuration's
  std::string state_directory = kStateDirectory;
  std::optional<LogLevel> log_level;  // nullopt: the configuration's
};
int run(const RunOptions& options);

struct CheckOptions {
  std::string file = kConfigFile;
  bool strict = false;
};
int check(const CheckOptions& options);

struct ConvertOptions {
  std::string file;               // empty: none
  std::string arguments;          // empty: none
  std::vector<std::string> near;  // "a.b/c=a.b/d"
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
  std::string control = kControlSocket;
  std::string name;  // empty: every resource
  bool watch = false;
  bool check = false;  // one line and an exit code, for node-problem-detector
  OutputFormat format = OutputFormat::kTable;
};
int status(const StatusOptions& options);

struct EventsOptions {
  std::string control = kControlSocket;
  unsigned limit = 0;  // 0: all
  bool follow = false;
  OutputFormat format = OutputFormat::kTable;
};
int events(const EventsOptions& options);

struct ReloadOptions {
  std::string control = kControlSocket;
  std::optional<LogLevel> log_level;  // nullopt: the configuration's
  std::string confirm;                // duration of the trial, "5m"; empty: no trial
  bool keep = false;                  // confirms the configuration on trial
  OutputFormat format = OutputFormat::kTable;
};
int reload(const ReloadOptions& options);

// Prints the JSON schema of the configuration.
struct SchemaOptions {};
int schema(const SchemaOptions& options);

struct ExplainOptions {
  std::string key;  // "resources.gpu.unit"; empty: the top level
};
int explain(const ExplainOptions& options);

struct DrainOptions {
  std::string control = kControlSocket;
  std::string what;  // NAME=ID, or NAME for every device of the resource
  std::string reason;
  std::string duration;  // "2h"; empty: until undrain
  OutputFormat format = OutputFormat::kTable;
};
int drain(const DrainOptions& options);

struct UndrainOptions {
  std::string control = kControlSocket;
  std::string what;         // as DrainOptions::what
  bool unreadable = false;  // instead: end the drain of every device because of a damaged file
  OutputFormat format = OutputFormat::kTable;
};
int undrain(const UndrainOptions& options);

// Prints a command's result for programs. `format` must be kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);

}  // namespace plughost
