#include "tools/command_line/usage_error.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Returns "a, b or c".
std::string alternatives(std::span<const std::string_view> words) {
  if (words.size() < 2) return joined(words, "");
  return joined(words.first(words.size() - 1), ", ") + " or " + std::string(words.back());
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string name = word.substr(0, word.find('='));
  const bool has_config = std::ranges::find(known, "--config") != known.end();
  const bool is_file = name == "-f" || name == "--file" || name == "--filename";
  if (name == "--config" && !has_config && std::ranges::find(known, "--control") != known.end())
    return "unknown option '--config': the daemon answers, by its own configuration; for a file use check or "
           "discover";
  if (is_file && has_config)
    return "unknown option " + quote(name) + "; the configuration is given with --config";
  return "unknown option " + quote(name) + did_you_mean(name, known);
}

std::string unexpected(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-') && word.size() > 1) return unknown_option(command, word);
  if (command.get_name() == "reload")
    return "unexpected argument " + quote(word) + "; the daemon reads its own configuration again";
  return "unexpected argument " + quote(word);
}

// Returns "NAME[=N]" for the positional with this name, and the name otherwise.
std::string shown_name(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_name() == name && !option->get_option_text().empty())
      return option->get_option_text();
  return name;
}

// Returns the text without the end, which the parser appends; the whole text if it has another end.
std::string before(std::string text, std::string_view end) {
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  return text;
}

template <typename Kind>
bool is(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

std::string sentence(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::vector<std::string> rest = command.remaining();
  // An unexpected word is the cause, if there is one: its value may be what is missing.
  if (!rest.empty()) return unexpected(command, rest.front());
  if (is<CLI::RequiredError>(error)) return shown_name(command, before(text, " is required")) + " is missing";
  // "--config: 1 required FILE missing", "--config: At Most 1 required but received 2"
  if (is<CLI::ArgumentMismatch>(error))
    return text.substr(0, text.find(':')) +
           (text.find("At Most") == text.npos ? " needs a value" : " takes one value");
  if (is<CLI::ExcludesError>(error)) {
    constexpr std::string_view kBetween = " excludes ";
    const std::size_t middle = text.find(kBetween);
    return shown_name(command, text.substr(0, middle)) + " cannot be used together with " +
           shown_name(command, text.substr(middle + kBetween.size()));
  }
  return text;
}

}  // namespace

std::string unknown_word(std::string_view noun, std::string_view word,
                         std::span<const std::string_view> known) {
  return "unknown " + std::string(noun) + ' ' + quote(word) + did_you_mean(word, known) + "; use " +
         alternatives(known);
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  static constexpr std::string_view kResources =
      "`plughost discover` prints what a configuration finds on this node, and `plughost status` what the "
      "daemon offers";
  // Words of kubectl, helm and systemctl.
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"get", kResources},
      {"list", kResources},
      {"ls", kResources},
      {"describe", "`plughost status NAME` prints a resource"},
      {"logs", "`plughost events` prints the changes; the log is in the journal: journalctl -u plughost"},
      {"apply",
       "`plughost check` validates a file, and `plughost reload` makes the daemon read its configuration "
       "again"},
      {"validate", "`plughost check` validates a file"},
      {"template", "`plughost discover` prints what a configuration finds on this node"},
      {"lint", "`plughost check` validates a file"},
      {"cordon", "`plughost drain NAME` takes a resource or a device out of service"},
      {"uncordon", "`plughost undrain NAME` puts a resource or a device into service"},
      {"start", "systemd starts the daemon: systemctl start plughost"},
      {"stop", "systemd stops the daemon: systemctl stop plughost"},
      {"restart", "systemd restarts the daemon: systemctl restart plughost"}};
  for (const auto& [foreign, meant] : kMeant)
    if (word == foreign) return "unknown command " + quote(word) + "; " + std::string(meant);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "unknown command " + quote(word) + did_you_mean(word, known);
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const std::vector<std::string> rest = app.remaining();
  if (!parsed.empty() && rest.empty()) {
    const CLI::App& command = *parsed.front();
    return command.get_name() + ": " + sentence(command, error) + "\n`plughost " + command.get_name() +
           " --help` shows its options";
  }
  if (rest.empty()) return "";
  if (!parsed.empty()) return "plughost: the option " + quote(rest.front()) + " belongs after the command";
  return "plughost: " +
         (rest.front().starts_with('-') ? unknown_option(app, rest.front())
                                        : unknown_command(app, rest.front())) +
         "\n`plughost --help` lists the commands";
}

}  // namespace plughost
