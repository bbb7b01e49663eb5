#pragma once
// Adds subcommands, and the options that several of them have.

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "tools/command_line/usage_error.hpp"
#include "tools/commands/command.hpp"

namespace plughost {

// The parser, and the exit code of the subcommand that it has called.
struct Subcommands {
  CLI::App app{"Kubernetes extended resources from a YAML file", "plughost"};
  int exit_code = 0;

  // Adds a subcommand; `call` is called with its options.
  template <typename Options>
  std::pair<CLI::App*, std::shared_ptr<Options>> add(const char* name, const char* words,
                                                     int (*call)(const Options&)) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(name, words);
    command->callback([this, options, call] { exit_code = call(*options); });
    return {command, options};
  }
};

void add_file_commands(Subcommands& commands);    // those that read a configuration, or this node
void add_daemon_commands(Subcommands& commands);  // run, and those that talk to the running daemon

// Adds an option or a positional whose value is one of the words. `noun` names it in messages: "output
// format". `type` is "FORMAT", as the help shows it before the words.
template <typename Value, typename Target>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Target& target, std::string_view noun,
                        std::string_view type, std::span<const Word<Value>> words, const std::string& help) {
  std::vector<std::string_view> known;
  for (const Word<Value>& each : words) known.push_back(each.word);
  const auto choose = [&target, words, known, noun](const std::string& word) {
    for (const Word<Value>& each : words) {
      if (each.word != word) continue;
      target = each.value;
      return;
    }
    throw CLI::ValidationError(unknown_word(noun, word, known));
  };
  return command.add_option_function<std::string>(names, choose, help)
      ->option_text(std::string(type) + ":{" + joined(known, ",") + '}');
}

// The formats, in the order of the help. Each command has the first three; tables of devices have them all.
constexpr Word<OutputFormat> kFormats[] = {{"table", OutputFormat::kTable},
                                           {"json", OutputFormat::kJson},
                                           {"yaml", OutputFormat::kYaml},
                                           {"name", OutputFormat::kName},
                                           {"wide", OutputFormat::kWide}};
enum class Formats { kThree = 3, kAndName = 4, kAll = 5 };
void add_output(CLI::App& command, OutputFormat& format, Formats formats = Formats::kThree);

// Adds --config. The environment's PLUGHOST_CONFIG replaces the default.
CLI::Option* add_config(CLI::App& command, std::string& file);
// Adds --config, and the same as a positional.
void add_file(CLI::App& command, std::string& file);

}  // namespace plughost
