#pragma once
// The subcommands. Each returns the process's exit code: 0 done, 1 it said no, 2 its input cannot be used.
// What it throws, command_line.cpp tells: 1.
// What they are asked for is what command_line.cpp reads from the command line: it alone includes the parser,
// which is slow to build.

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
  std::string control;           // likewise
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
  std::string arguments;          // likewise
  std::vector<std::string> near;  // "a.b/c=a.b/d"
};
int convert(const ConvertOptions& options);

struct DiscoverOptions {
  std::string file = kConfigFile;
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
  std::string config;  // empty: the usual one, if it is there
  std::vector<std::string> paths;
};
int facts(const FactsOptions& options);

struct PlanOptions {
  std::string facts;   // a directory of files, or one
  std::string file;    // the configuration
  std::string former;  // the one before it; empty: none
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
  std::string kubernetes;  // a distribution's name; empty: as is found
  std::string root = "/";  // of the machine that is set up
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
  std::string confirm;                // "5m": on trial for so long; empty: not on trial
  bool keep = false;                  // what is on trial stays
  OutputFormat format = OutputFormat::kTable;
};
int reload(const ReloadOptions& options);

struct DrainOptions {
  std::string control = kControlSocket;
  std::string what;  // NAME=ID
  std::string reason;
  std::string duration;  // "2h"; empty: until undrain
  OutputFormat format = OutputFormat::kTable;
};
int drain(const DrainOptions& options);

struct UndrainOptions {
  std::string control = kControlSocket;
  std::string what;  // NAME=ID
  OutputFormat format = OutputFormat::kTable;
};
int undrain(const UndrainOptions& options);

// Prints a command's result for programs. format: kJson or kYaml.
void print(std::ostream& out, const Json& json, OutputFormat format);

}  // namespace plughost
