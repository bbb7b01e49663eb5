#include "host/hardware/node_labels.hpp"

#include <stdexcept>

#include "base/text/ascii.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostText = 1 << 20;
constexpr const char* kName = "kubernetes.io/hostname";

std::map<std::string, std::string> labels_of(const Json& map) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : map.object()) {
    if (value != Json(value.text()))
      throw std::runtime_error("the value of " + one_word(key) + " is not text");
    labels[key] = value.text();
  }
  return labels;
}

NodeLabels of_json(const Json& json) {
  const Json& metadata = json["metadata"].object().empty() ? json : json["metadata"];
  const bool is_metadata = !metadata["labels"].object().empty() || &metadata != &json;
  if (!is_metadata) return {.labels = labels_of(json)};
  return {.node = metadata["name"].text(), .labels = labels_of(metadata["labels"])};
}

NodeLabels of_lines(std::string_view text) {
  NodeLabels found;
  for (std::size_t number = 0; const std::string_view whole : split(text, '\n')) {
    ++number;
    const std::string_view line = without_blanks(whole);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      throw std::runtime_error("line " + std::to_string(number) + " is not key=value: " + one_word(line));
    const std::string_view value = without_blanks(line.substr(equals + 1));
    found.labels[std::string(without_blanks(line.substr(0, equals)))] =
        value.starts_with('"') ? Json::parse(value).text() : std::string(value);
  }
  return found;
}

}  // namespace

NodeLabels node_labels_of(std::string_view text) {
  try {
    NodeLabels found = without_blanks(text).starts_with('{') ? of_json(Json::parse(text)) : of_lines(text);
    if (const auto name = found.labels.find(kName); found.node.empty() && name != found.labels.end())
      found.node = name->second;
    return found;
  } catch (const std::runtime_error& exception) {
    return {.error = exception.what()};
  }
}

NodeLabels read_node_labels(const HostRoot& host, const std::string& file) {
  if (file.empty()) return {.error = "`nodeLabels` names no file"};
  const auto text = host.text(file, kMostText);
  NodeLabels found = text ? node_labels_of(*text) : NodeLabels{.error = "it cannot be read"};
  if (!found.error.empty()) found.error = file + ": " + found.error;
  return found;
}

}  // namespace plughost
