#include "tools/command_line/command_line.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/printable_stream.hpp"
#include "tools/command_line/subcommands.hpp"
#include "tools/command_line/usage_error.hpp"
#include "tools/commands/command.hpp"

namespace plughost {
namespace {

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
    {"reload", "plughost reload --try 5m"},
    {"upgrade", "plughost upgrade"},
    {"drain", "plughost drain example.com/serial=ttyUSB0 --for 2h --reason 'new cable'"},
    {"undrain", "plughost undrain example.com/serial=ttyUSB0"},
    {"version", "plughost version"},
    {"help", "plughost help status"},
};

struct VersionOptions {};
int print_version(const VersionOptions& /*options*/) {
  std::cout << "plughost " PLUGHOST_VERSION "\n";
  return 0;
}

// `help COMMAND` is `COMMAND --help`.
void add_help(Subcommands& commands) {
  CLI::App* const help = commands.app.add_subcommand("help", "print the help of a command");
  const auto name = std::make_shared<std::string>();
  help->add_option("command", *name, "the command; default: plughost itself")->option_text("COMMAND");
  help->callback([&commands, name] {
    try {
      if (!name->empty()) commands.app.get_subcommand(*name);
    } catch (const CLI::OptionNotFound&) {
      throw CLI::ValidationError(unknown_command(commands.app, *name));
    }
    const std::vector<const char*> words =
        name->empty() ? std::vector{"plughost", "--help"} : std::vector{"plughost", name->c_str(), "--help"};
    commands.exit_code = run_command_line(static_cast<int>(words.size()), words.data());
  });
}

void add_commands(Subcommands& commands) {
  commands.app.set_version_flag("-v,--version", "plughost " PLUGHOST_VERSION);
  commands.app.require_subcommand(1);
  commands.app.get_formatter()->column_width(34);
  add_daemon_commands(commands);
  add_file_commands(commands);
  commands.add<VersionOptions>("version", "print the version", &print_version);
  add_help(commands);
  for (const auto& [command, example] : kExamples)
    commands.app.get_subcommand(command)->footer(std::string("Example:\n  ") + example);
  commands.app.footer(
      "Example: plughost check && plughost discover && plughost reload\n"
      "`plughost COMMAND --help` has a command's options, and an example.\n"
      "The environment: PLUGHOST_CONFIG, PLUGHOST_CONTROL and PLUGHOST_PRESETS replace the defaults of\n"
      "--config, --control and --presets; with NO_COLOR a terminal gets no colours.");
}

int run_commands(Subcommands& commands, int count, const char* const* words) {
  try {
    commands.app.parse(count, words);
  } catch (const CLI::Success& wish) {  // --help, --version
    return commands.app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::string text = usage_error(commands.app, error);
    std::cerr << (text.empty() ? commands.app.help() : text + '\n');
    return kUsedWrongly;
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
  return commands.exit_code;
}

// See https://no-color.org for the variable.
bool is_coloured(int fd) {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && (refused == nullptr || *refused == '\0') &&
         (terminal == nullptr || terminal != std::string_view("dumb"));
}

}  // namespace

int run_command_line(int count, const char* const* words) {
  const PrintableStream output(std::cout, is_coloured(STDOUT_FILENO));
  const PrintableStream errors(std::cerr, is_coloured(STDERR_FILENO));
  Subcommands commands;
  add_commands(commands);
  return run_commands(commands, count, words);
}

}  // namespace plughost
