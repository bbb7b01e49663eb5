#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log_line.hpp"
#include "base/text/printable_stream.hpp"
#include "base/text/text.hpp"
#include "host/services/kubernetes.hpp"
#include "tools/commands/command.hpp"

namespace plughost {
namespace {

class CommandLine {
 public:
  CommandLine();
  int run(int count, const char* const* words);

 private:
  // Adds a subcommand; `call` is called with its options.
  template <typename Options>
  std::pair<CLI::App*, std::shared_ptr<Options>> add(const char* name, const char* words,
                                                     int (*call)(const Options&)) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app_.add_subcommand(name, words);
    command->callback([this, options, call] { exit_code_ = call(*options); });
    return {command, options};
  }

  void add_run();
  void add_check();
  void add_convert();
  void add_discover();
  void add_facts();
  void add_plan();
  void add_preset();
  void add_simulate();
  void add_schema();
  void add_checkpoint();
  void add_doctor();
  void add_setup();
  void add_status();
  void add_events();
  void add_reload();
  void add_drain();
  void add_undrain();

  CLI::App app_{"Kubernetes extended resources from a YAML file", "plughost"};
  int exit_code_ = 0;
};

void add_config(CLI::App& command, std::string& file) {
  command.add_option("--config", file, "configuration file")->capture_default_str();
}

void add_control(CLI::App& command, std::string& socket) {
  command.add_option("--control", socket, "the daemon's control socket")
      ->capture_default_str()
      ->type_name("FILE");
}

void add_output(CLI::App& command, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> kFormats{
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"yaml", OutputFormat::kYaml}};
  command.add_option("-o,--output", format, "output format")
      ->transform(CLI::CheckedTransformer(kFormats))
      ->option_text("FORMAT:{table,json,yaml}");
}

void accept_log_level(CLI::Option* option) {
  std::map<std::string, LogLevel> levels;
  std::vector<std::string_view> words;
  for (const auto& [word, level] : kLogLevels) {
    levels.emplace(word, level);
    words.push_back(word);
  }
  option->transform(CLI::CheckedTransformer(levels))->option_text("LEVEL:{" + joined(words, ",") + '}');
}

void CommandLine::add_run() {
  const auto [command, options] =
      add<RunOptions>("run", "run the daemon, which serves the resources of a configuration", &plughost::run);
  command->add_option("--config", options->config, "configuration file")->capture_default_str();
  command
      ->add_option("--plugin-directory", options->plugin_directory,
                   "the kubelet's device-plugin directory; overrides the configuration")
      ->type_name("DIR");
  command->add_option("--control", options->control, "the control socket; overrides the configuration")
      ->type_name("FILE");
  command
      ->add_option("--state-directory", options->state_directory,
                   "directory for state that survives a restart")
      ->capture_default_str()
      ->type_name("DIR");
  accept_log_level(command->add_option("--log-level", options->log_level,
                                       "minimum level of log lines; overrides the configuration"));
}

void CommandLine::add_check() {
  const auto [command, options] =
      add<CheckOptions>("check", "validate a configuration and print every problem", &check);
  command->add_option("file", options->file, "configuration file")->capture_default_str();
  command->add_flag("--strict", options->strict, "treat warnings as errors");
}

void CommandLine::add_convert() {
  const auto [command, options] =
      add<ConvertOptions>("convert", "convert another device plugin's configuration to plughost's", &convert);
  CLI::Option* const file = command->add_option(
      "file", options->file,
      "the configuration, a manifest, or a directory that contains one; - for standard input");
  CLI::Option* const arguments =
      command->add_option("--args", options->arguments, "the other plugin's command line, as one argument")
          ->type_name("TEXT");
  command
      ->add_option("--near", options->near,
                   "two resources; a container that requests both gets devices that are close to each other")
      ->type_name("ONE=OTHER");
  command->parse_complete_callback([file, arguments] {
    if (file->count() == 0 && arguments->count() == 0) throw CLI::RequiredError("file or --args");
  });
}

void CommandLine::add_discover() {
  const auto [command, options] = add<DiscoverOptions>(
      "discover", "scan this node and print what each resource would advertise", &discover);
  command
      ->add_option("--explain", options->explain,
                   "print only what the selectors of this resource saw, and what each rule left out")
      ->type_name("NAME");
  add_config(*command, options->file);
  add_output(*command, options->format);
}

void CommandLine::add_facts() {
  const auto [command, options] =
      add<FactsOptions>("facts", "print facts about this node as JSON, without secrets, for plan", &facts);
  command->add_option("--config", options->config, "also record what this configuration scans")
      ->type_name("FILE")
      ->default_str(kConfigFile);
  command->add_option("--path", options->paths, "also record these files; repeatable")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void CommandLine::add_plan() {
  const auto [command, options] = add<PlanOptions>(
      "plan", "print what a configuration would advertise on recorded nodes, and what it changes", &plan);
  command->add_option("file", options->file, "configuration file")->required();
  command
      ->add_option("--facts", options->facts,
                   "directory with the output of plughost facts, one file per node")
      ->required()
      ->type_name("DIR");
  command->add_option("--from", options->former, "compare with this configuration")->type_name("FILE");
  add_output(*command, options->format);
}

void CommandLine::add_preset() {
  static const std::map<std::string, PresetAction> kActions{{"list", PresetAction::kList},
                                                            {"show", PresetAction::kShow},
                                                            {"enable", PresetAction::kEnable},
                                                            {"disable", PresetAction::kDisable}};
  const auto [command, options] = add<PresetOptions>(
      "preset", "list and show ready-made entries, and link them into the configuration", &preset);
  CLI::Option* const action = command->add_option("action", options->action, "action")
                                  ->required()
                                  ->transform(CLI::CheckedTransformer(kActions))
                                  ->option_text("ACTION:{list,show,enable,disable}");
  CLI::Option* const names =
      command->add_option("names", options->names, "the presets")->option_text("NAME ...");
  CLI::Option* const here =
      command->add_flag("--here", options->here, "with list: only presets that find devices on this node");
  add_config(*command, options->config);
  command->add_option("--presets", options->presets, "directory of the presets")
      ->capture_default_str()
      ->type_name("DIR");
  add_output(*command, options->format);
  command->parse_complete_callback([told = options, action, names, here] {
    if (action->count() == 0) return;
    const bool listing = told->action == PresetAction::kList;
    if (!listing && names->count() == 0) throw CLI::RequiredError("the name of a preset");
    if (listing && names->count() > 0) throw CLI::ValidationError("list", "it takes no names");
    if (!listing && here->count() > 0) throw CLI::ValidationError("--here", "it belongs to list");
  });
}

void CommandLine::add_simulate() {
  const auto [command, options] = add<SimulateOptions>(
      "simulate", "print the response that the kubelet would get for a container", &simulate);
  command->add_option("what", options->what, "NAME, NAME=3 or NAME=id,id")
      ->required()
      ->option_text("NAME[=N]");
  command->add_option("--pod", options->pod, "with assume: simulate this pod of the node")
      ->type_name("NAMESPACE/NAME");
  add_config(*command, options->file);
  add_output(*command, options->format);
}

void CommandLine::add_schema() {
  add<SchemaOptions>("schema", "print the JSON schema of the configuration, for editors", &schema);
  const auto [command, options] = add<ExplainOptions>("explain", "describe a configuration key", &explain);
  command->add_option("key", options->key, "the key, with the keys above it; default: the top level")
      ->option_text("KEY");
}

void CommandLine::add_checkpoint() {
  const auto [command, options] = add<CheckpointOptions>(
      "checkpoint", "print the kubelet's checkpoint: which pod holds which device", &checkpoint);
  command->add_option("file", options->file, "checkpoint file")->capture_default_str();
  add_output(*command, options->format);
}

void CommandLine::add_doctor() {
  const auto [command, options] =
      add<DoctorOptions>("doctor", "diagnose this node and print what to do about each problem", &doctor);
  add_config(*command, options->file);
  add_output(*command, options->format);
}

void CommandLine::add_setup() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Distribution& each : distributions()) names.emplace_back(each.name);
    return names;
  }();
  const auto [command, options] = add<SetupOptions>(
      "setup", "write the systemd drop-ins that this node and its configuration need", &setup);
  command->add_flag("--dry-run", options->dry_run, "change nothing and print the files as a diff");
  command->add_flag("--undo", options->undo, "remove the files that setup has written");
  command->add_option("--kubernetes", options->kubernetes, "the node's distribution; default: detected")
      ->check(CLI::IsMember(kNames))
      ->option_text("NAME:{" + joined(kNames, ",") + '}');
  add_config(*command, options->config);
  command->add_option("--root", options->root, "root directory of an image that is being built")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str()
      ->option_text("DIR");
}

void CommandLine::add_status() {
  const auto [command, options] = add<StatusOptions>(
      "status", "print the daemon's resources and devices, and the pods that hold them", &status);
  CLI::Option* const name = command->add_option("name", options->name, "print the devices of this resource");
  CLI::Option* const watch =
      command->add_flag("-w,--watch", options->watch, "keep running and print each change");
  command
      ->add_flag(
          "--check", options->check,
          "print one line that says whether the node is ready; exit code 0: ready, 1: not ready, 2: unknown")
      ->excludes(name)
      ->excludes(watch);
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void CommandLine::add_events() {
  const auto [command, options] = add<EventsOptions>("events", "print the daemon's last 500 events", &events);
  command->add_option("-n,--limit", options->limit, "print only the last N")
      ->check(CLI::Range(1, 1000))
      ->option_text("N");
  command->add_flag("-f,--follow", options->follow, "keep running and print new events");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void CommandLine::add_reload() {
  const auto [command, options] =
      add<ReloadOptions>("reload", "reload the daemon's configuration and print what changed", &reload);
  accept_log_level(
      command->add_option("--log-level", options->log_level,
                          "minimum level of log lines until the next reload; default: the configuration's"));
  command
      ->add_option("--confirm", options->confirm,
                   "roll back to the former configuration after this time unless --keep confirms the new one")
      ->type_name("DURATION");
  command->add_flag("--keep", options->keep, "do not reload; keep the configuration that is on trial")
      ->excludes("--confirm")
      ->excludes("--log-level");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void CommandLine::add_drain() {
  const auto [command, options] =
      add<DrainOptions>("drain", "take devices out of service, so that no new pod gets them", &drain);
  command->add_option("what", options->what, "the resource and the id of its device, or a whole resource")
      ->required()
      ->option_text("NAME[=ID]");
  command->add_option("--reason", options->reason, "reason, which status shows")->type_name("TEXT");
  command
      ->add_option("--for", options->duration,
                   "return the device to service after this time; default: when it is undrained")
      ->type_name("DURATION");
  add_control(*command, options->control);
  add_output(*command, options->format);
}

void CommandLine::add_undrain() {
  const auto [command, options] =
      add<UndrainOptions>("undrain", "return drained devices to service", &undrain);
  CLI::Option* const what =
      command->add_option("what", options->what, "the resource and the id of its device, or a whole resource")
          ->option_text("NAME[=ID]");
  CLI::Option* const unreadable = command->add_flag(
      "--unreadable", options->unreadable,
      "return the devices that are out of service because the drained ones could not be read");
  unreadable->excludes(what);
  command->parse_complete_callback([what, unreadable] {
    if (what->count() + unreadable->count() == 0) throw CLI::RequiredError("NAME[=ID] or --unreadable");
  });
  add_control(*command, options->control);
  add_output(*command, options->format);
}

// A command line of each command, for its help. Each line works on any node.
constexpr std::pair<const char*, const char*> kExamples[] = {
    {"run", "plughost run --config /etc/plughost/config.yaml"},
    {"check", "plughost check --strict config.yaml"},
    {"convert", "kubectl get daemonset,configmap -n kube-system -o yaml | plughost convert - > config.yaml"},
    {"discover", "plughost discover --config config.yaml"},
    {"facts", "plughost facts > facts/node-1.json"},
    {"plan", "plughost plan config.yaml --facts facts/"},
    {"preset", "plughost preset list --here"},
    {"simulate", "plughost simulate example.com/serial=2"},
    {"schema", "plughost schema > plughost.schema.json"},
    {"explain", "plughost explain resources.gpu.unit"},
    {"checkpoint", "plughost checkpoint -o json"},
    {"doctor", "plughost doctor"},
    {"setup", "plughost setup --dry-run"},
    {"status", "plughost status example.com/serial"},
    {"events", "plughost events -n 20"},
    {"reload", "plughost reload --confirm 5m"},
    {"drain", "plughost drain example.com/serial=ttyUSB0 --for 2h --reason 'new cable'"},
    {"undrain", "plughost undrain example.com/serial=ttyUSB0"},
};

CommandLine::CommandLine() {
  app_.set_version_flag("--version", "plughost " PLUGHOST_VERSION);
  app_.require_subcommand(1);
  app_.get_formatter()->column_width(34);
  add_run();
  add_check();
  add_convert();
  add_discover();
  add_facts();
  add_plan();
  add_preset();
  add_simulate();
  add_schema();
  add_checkpoint();
  add_doctor();
  add_setup();
  add_status();
  add_events();
  add_reload();
  add_drain();
  add_undrain();
  for (const auto& [command, example] : kExamples)
    app_.get_subcommand(command)->footer(std::string("Example:\n  ") + example);
  app_.footer(
      "Example: plughost check && plughost discover && plughost reload\n"
      "`plughost COMMAND --help` has a command's options, and an example.");
}

int CommandLine::run(int count, const char* const* words) {
  try {
    app_.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? 0 : 2;
  } catch (const std::system_error& error) {
    std::cerr << "plughost: " << error.what() << '\n';
    return 1;
  } catch (const std::runtime_error& error) {  // ConfigError, NoAnswer: their text is a complete sentence
    std::cerr << error.what() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "plughost: " << error.what() << '\n';
    return 1;
  }
  return exit_code_;
}

}  // namespace

int run_command_line(int count, const char* const* words) {
  const PrintableStream output(std::cout);
  const PrintableStream errors(std::cerr);
  return CommandLine().run(count, words);
}

}  // namespace plughost
