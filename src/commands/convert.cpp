// plughost convert: another plugin's configuration in plughost's words.

#include "convert/convert.hpp"

#include <iostream>
#include <variant>

#include "commands/command.hpp"
#include "config/text_file.hpp"
#include "config/yaml.hpp"

namespace plughost {

namespace {

// nullopt: reported.
std::optional<Node> read(const std::string& file, Diagnostics& diagnostics) {
  const auto text = read_text_file(file);
  if (const auto* trouble = std::get_if<FileTrouble>(&text)) {
    diagnostics.error({.file = file}, "", "the file " + trouble->what);
    return std::nullopt;
  }
  auto root = parse_yaml(std::get<std::string>(text), file, diagnostics);
  if (diagnostics.has_errors()) root.reset();
  return root;
}

}  // namespace

int convert(const ConvertOptions& options) {
  const auto& [file, arguments] = options;
  Diagnostics diagnostics;
  const auto root = file.empty() ? std::nullopt : read(file, diagnostics);
  std::optional<Conversion> conversion;
  if (root || file.empty()) conversion = convert(root ? &*root : nullptr, arguments, diagnostics);
  for (const Diagnostic& error : diagnostics.all()) std::cerr << error.text() << '\n';
  if (!conversion) return 1;
  const std::string source = file.empty() ? "--args" : file;
  std::cout << conversion->text;
  std::cerr << source << ": taken for the configuration of " << conversion->from
            << "; comments on what differs: " << conversion->notes << "; try it with plughost check\n";
  if (conversion->entries > 0) return 0;
  std::cerr << source << ": nothing of it can be kept as it is\n";
  return 1;
}

}  // namespace plughost
