#include "tools/commands/given.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <variant>

#include "base/document/diagnostics.hpp"
#include "base/document/text_file.hpp"
#include "base/text/text.hpp"
#include "config/places.hpp"

namespace plughost {

std::string from_environment(const char* variable, const std::string& otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

Config given_config(const std::string& file) {
  if (file != "-") return load_config(file);
  auto text = read_text(STDIN_FILENO);
  if (const auto* const error = std::get_if<FileError>(&text))
    throw ConfigError({{.mark = {.file = "-"}, .path = "", .what = "standard input " + error->what}});
  return load_config("-", {.text = std::get<std::string>(std::move(text))});
}

std::string control_socket(const std::string& given) {
  const std::string path = given.empty() ? from_environment("PLUGHOST_CONTROL", "") : given;
  if (!path.empty()) return path;
  try {
    return load_config(from_environment("PLUGHOST_CONFIG", kConfigFile)).telemetry.control;
  } catch (const ConfigError&) {
    // The daemon may run with the configuration from before the mistake, or with a file that only root reads.
    return kControlSocket;
  }
}

bool names_resource(std::string_view word, std::string_view resource) {
  return resource == word || (resource.ends_with(word) && word.size() < resource.size() &&
                              resource[resource.size() - word.size() - 1] == '/');
}

std::string full_name(const std::string& word, std::span<const std::string> known) {
  if (std::ranges::find(known, word) != known.end()) return word;
  std::vector<std::string> found;
  std::ranges::copy_if(known, std::back_inserter(found),
                       [&](const std::string& name) { return names_resource(word, name); });
  if (found.size() > 1)
    throw std::runtime_error(quote(word) + " names several resources: " + joined(found, ", ") +
                             "; write one with its domain");
  return found.empty() ? word : found.front();
}

std::vector<std::string> names_of(const Json& status) {
  std::vector<std::string> names;
  for (const Json& resource : status["resources"].array()) names.push_back(resource["name"].text());
  return names;
}

}  // namespace plughost
