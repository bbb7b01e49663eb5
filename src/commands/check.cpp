// plughost check: is a configuration right?

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "config/config.hpp"

namespace plughost {

namespace {

int check(const std::string& file, bool strict) {
  try {
    const Config config = load_config(file);
    for (const Diagnostic& warning : config.warnings) std::cerr << "warning: " << warning.text() << '\n';
    if (strict && !config.warnings.empty()) return 1;
    std::cout << file << ": " << config.resources.size()
              << (config.resources.size() == 1 ? " entry" : " entries") << " in " << config.files.size()
              << (config.files.size() == 1 ? " file" : " files") << ", no errors\n";
    return 0;
  } catch (const ConfigError& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  struct Options {
    std::string file = kDefaultConfig;
    bool strict = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "say everything that is wrong with a configuration");
  command->add_option("file", options->file, "the configuration")->capture_default_str();
  command->add_flag("--strict", options->strict, "a warning is an error");
  command->callback([options, &exit_code] { exit_code = check(options->file, options->strict); });
}

}  // namespace plughost
