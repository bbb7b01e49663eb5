// The subcommands that read a configuration, or this node.

#include <filesystem>

#include "host/services/kubernetes.hpp"
#include "tools/command_line/subcommands.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

void add_check(Subcommands& commands) {
  const auto [command, options] =
      commands.add<CheckOptions>("check", "validate a configuration and print every problem", &check);
  options->files = {from_environment("PLUGHOST_CONFIG", kConfigFile)};
  CLI::Option* const option =
      command->add_option("--config", options->files, "configuration file; - for standard input")
          ->type_name("FILE")
          ->expected(1)
          ->default_str(options->files.front());
  command->add_option("file", options->files, "the same as --config, one or several")
      ->option_text("FILE ...")
      ->excludes(option);
  command->add_flag("--strict", options->strict, "treat warnings as errors");
  add_output(*command, options->format);
}

void add_convert(Subcommands& commands) {
  const auto [command, options] = commands.add<ConvertOptions>(
      "convert", "convert another device plugin's configuration to plughost's", &convert);
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
  command->add_flag("--explain", options->explain,
                    "print where each resource comes from, and what became of each key, instead of the YAML");
  command->parse_complete_callback([file, arguments] {
    if (file->count() == 0 && arguments->count() == 0) throw CLI::RequiredError("FILE or --args");
  });
}

void add_discover(Subcommands& commands) {
  const auto [command, options] = commands.add<DiscoverOptions>(
      "discover", "scan this node and print what each resource would advertise", &discover);
  command
      ->add_option("--explain", options->explain,
                   "print only what the selectors of this resource saw, and what each rule left out")
      ->type_name("NAME");
  add_file(*command, options->file);
  add_output(*command, options->format, Formats::kAll);
}

void add_facts(Subcommands& commands) {
  const auto [command, options] = commands.add<FactsOptions>(
      "facts", "print facts about this node as JSON, without secrets, for plan", &facts);
  command->add_option("--config", options->config, "also record what this configuration scans")
      ->type_name("FILE")
      ->default_str(kConfigFile);
  command->add_option("--path", options->paths, "also record these files; repeatable")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_plan(Subcommands& commands) {
  const auto [command, options] = commands.add<PlanOptions>(
      "plan", "print what a configuration would advertise on recorded nodes, and what it changes", &plan);
  CLI::Option* const option = command->add_option("--config", options->file, "configuration file");
  CLI::Option* const file = command->add_option("file", options->file, "the same as --config");
  option->type_name("FILE")->excludes(file);
  file->option_text("FILE");
  command->parse_complete_callback([option, file] {
    if (option->count() + file->count() == 0) throw CLI::RequiredError("the configuration FILE");
  });
  command
      ->add_option("--facts", options->facts,
                   "directory with the output of plughost facts, one file per node")
      ->required()
      ->type_name("DIR");
  command->add_option("--from", options->former, "compare with this configuration")->type_name("FILE");
  add_output(*command, options->format);
}

void add_preset(Subcommands& commands) {
  static constexpr Word<PresetAction> kActions[] = {{"list", PresetAction::kList},
                                                    {"show", PresetAction::kShow},
                                                    {"enable", PresetAction::kEnable},
                                                    {"disable", PresetAction::kDisable}};
  const auto [command, options] = commands.add<PresetOptions>(
      "preset", "list and show ready-made entries, and link them into the configuration", &preset);
  CLI::Option* const action =
      add_choice<PresetAction>(*command, "action", options->action, "action", "ACTION", kActions, "action")
          ->required();
  CLI::Option* const names =
      command->add_option("names", options->names, "the presets")->option_text("NAME ...");
  CLI::Option* const here =
      command->add_flag("--here", options->here, "with list: only presets that find devices on this node");
  add_config(*command, options->config);
  options->presets = from_environment("PLUGHOST_PRESETS", options->presets);
  command->add_option("--presets", options->presets, "directory of the presets")
      ->capture_default_str()
      ->type_name("DIR");
  add_output(*command, options->format, Formats::kAndName);
  command->parse_complete_callback([told = options, action, names, here] {
    if (action->count() == 0) return;
    const bool listing = told->action == PresetAction::kList;
    if (!listing && names->count() == 0) throw CLI::RequiredError("the name of a preset");
    if (listing && names->count() > 0) throw CLI::ValidationError("list takes no names");
    if (!listing && here->count() > 0) throw CLI::ValidationError("--here belongs to list");
  });
}

void add_simulate(Subcommands& commands) {
  const auto [command, options] = commands.add<SimulateOptions>(
      "simulate", "print the response that the kubelet would get for a container", &simulate);
  command->add_option("what", options->what, "NAME, NAME=3 or NAME=id,id")
      ->required()
      ->option_text("NAME[=N]");
  command->add_option("--pod", options->pod, "with assume: simulate this pod of the node")
      ->type_name("NAMESPACE/NAME");
  add_config(*command, options->file);
  add_output(*command, options->format);
}

void add_schema(Subcommands& commands) {
  commands.add<SchemaOptions>("schema", "print the JSON schema of the configuration, for editors", &schema);
  const auto [command, options] =
      commands.add<ExplainOptions>("explain", "describe a configuration key", &explain);
  command->add_option("key", options->key, "the key, with the keys above it; default: the top level")
      ->option_text("KEY");
}

void add_checkpoint(Subcommands& commands) {
  const auto [command, options] = commands.add<CheckpointOptions>(
      "checkpoint", "print the kubelet's checkpoint: which pod holds which device", &checkpoint);
  command->add_option("file", options->file, "checkpoint file")->capture_default_str();
  add_output(*command, options->format);
}

void add_doctor(Subcommands& commands) {
  const auto [command, options] = commands.add<DoctorOptions>(
      "doctor", "diagnose this node and print what to do about each problem", &doctor);
  command->add_flag("-q,--quiet", options->quiet, "leave out what is in order");
  add_file(*command, options->file);
  add_output(*command, options->format);
}

void add_setup(Subcommands& commands) {
  static const std::vector<Word<std::string_view>> kNames = [] {
    std::vector<Word<std::string_view>> names;
    for (const Distribution& each : distributions()) names.push_back({each.name, each.name});
    return names;
  }();
  const auto [command, options] = commands.add<SetupOptions>(
      "setup", "write the systemd drop-ins that this node and its configuration need", &setup);
  command->add_flag("--dry-run", options->dry_run, "change nothing and print the files as a diff");
  command->add_flag("--undo", options->undo, "remove the files that setup has written");
  add_choice<std::string_view>(*command, "--kubernetes", options->kubernetes, "distribution", "NAME", kNames,
                               "the node's distribution; default: detected");
  add_config(*command, options->config);
  command->add_option("--root", options->root, "root directory of an image that is being built")
      ->check([](const std::string& directory) {
        return std::filesystem::is_directory(directory) ? "" : "there is no directory " + directory;
      })
      ->capture_default_str()
      ->option_text("DIR");
}

}  // namespace

void add_file_commands(Subcommands& commands) {
  add_check(commands);
  add_convert(commands);
  add_discover(commands);
  add_facts(commands);
  add_plan(commands);
  add_preset(commands);
  add_simulate(commands);
  add_schema(commands);
  add_checkpoint(commands);
  add_doctor(commands);
  add_setup(commands);
}

}  // namespace plughost
