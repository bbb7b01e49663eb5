#include "tools/command_line/subcommands.hpp"

#include <cstdlib>

#include "tools/commands/given.hpp"

namespace plughost {

void add_output(CLI::App& command, OutputFormat& format, Formats formats) {
  const std::span<const Word<OutputFormat>> all(kFormats);
  add_choice(command, "-o,--output", format, "output format", "FORMAT",
             all.first(static_cast<std::size_t>(formats)), "output format");
}

CLI::Option* add_config(CLI::App& command, std::string& file) {
  file = from_environment("PLUGHOST_CONFIG", file);
  return command.add_option("--config", file, "configuration file")->capture_default_str()->type_name("FILE");
}

void add_file(CLI::App& command, std::string& file) {
  CLI::Option* const option = add_config(command, file);
  command.add_option("file", file, "the same as --config")->option_text("FILE")->excludes(option);
}

}  // namespace plughost
