#include "config/schema.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/document/fields.hpp"
#include "base/document/shapes.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "config/condition.hpp"
#include "config/config.hpp"
#include "config/read_entry.hpp"
#include "config/read_settings.hpp"
#include "embedded/configuration.hpp"

namespace plughost {
namespace {

// Enough that each combination of alternatives occurs; schema_test has files of all of them.
constexpr unsigned kReadings = 256;

Shapes recorded() {
  Shapes shapes;
  Diagnostics ignored;  // the made-up values are wrong in many ways
  ignored.shapes = &shapes;
  Node root;
  root.kind = Node::Kind::kMap;
  for (unsigned reading = 0; reading < kReadings; ++reading) {
    shapes.begin(reading);
    Config config;
    Fields top(root, "", ignored);
    top.text("domain", "");
    SettingsReader(config, ignored).read_main(top, {});
    top.texts("include");
    top.items("resources");
    Fields include(root, "include[0]", ignored);
    include.require_text("file");
    Condition::read(*shapes.node("include[0].when"), "include[0].when", ignored);
    read_entry(root, "resources[0]", "", ignored);
  }
  return shapes;
}

// A row of a table of docs/configuration.md.
struct Row {
  std::string section;  // the key whose keys the table lists, or the heading
  std::string key;
  std::string text;
};

// Headings of tables that belong to several keys, or to a key of another name.
constexpr std::pair<std::string_view, std::string_view> kSections[] = {{"The API server", "apiServer"},
                                                                       {"Which nodes", "when"},
                                                                       {"usb", "usbs"},
                                                                       {"usb", "anyOf"},
                                                                       {"paths", "usb"},
                                                                       {"paths", "usbs"},
                                                                       {"Programs", "health"},
                                                                       {"Programs", "preStart"},
                                                                       {"Programs", "allocate"},
                                                                       {"Programs", "onRemove"},
                                                                       {"Programs", "whenUnhealthy"},
                                                                       {"Programs", "exec"},
                                                                       {"mounts", "nodes"},
                                                                       {"mounts", "paths"},
                                                                       {"mounts", "usb"},
                                                                       {"mounts", "usbs"},
                                                                       {"mounts", "pci"},
                                                                       {"mounts", "rdma"},
                                                                       {"mounts", "udev"}};

// Returns the text without Markdown's marks: "*flag*. See [there](x.md)." becomes "flag. See there."
std::string without_marks(std::string_view text) {
  std::string plain;
  bool is_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    is_code ^= text[i] == '`';
    if (is_code) {
      plain += text[i];
    } else if (text[i] == ']' && i + 1 < text.size() && text[i + 1] == '(') {
      i = text.find(')', i);
      if (i == std::string_view::npos) break;
    } else if (text[i] != '*' && text[i] != '[') {
      plain += text[i];
    }
  }
  return plain;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    std::string heading;
    std::string section;
    for (const std::string_view line : split(kConfigurationPage, '\n')) {
      if (line.starts_with('#')) section = heading = line.substr(line.find(' ') + 1);
      if (line.starts_with("| key of `")) section = line.substr(10, line.find('`', 10) - 10);
      if (line.starts_with("| key |")) section = heading;
      const std::size_t end = line.starts_with("| `") ? line.find("` | ") : std::string::npos;
      if (end == std::string::npos) continue;
      rows.push_back({section, std::string(line.substr(3, end - 3)),
                      without_marks(line.substr(end + 4, line.size() - end - 6))});
    }
    return rows;
  }();
  return kRows;
}

std::vector<std::string> components_of(const std::string& path) {
  std::vector<std::string> components;
  for (std::string_view word : split(path, '.')) {
    if (word.ends_with("[]")) word.remove_suffix(2);
    components.emplace_back(word);
  }
  return components;
}

// Returns the plain path of the map whose keys a section's table lists.
std::string map_of(const std::string& section) {
  static constexpr std::pair<std::string_view, std::string_view> kMaps[] = {
      {"The top level", ""},
      {"kubelet", "kubelet"},
      {"log", "log"},
      {"metrics", "metrics"},
      {"apiServer", "apiServer"},
      {"Entries", "resources[]"},
      {"mounts", "resources[].mounts[]"},
      {"groups", "resources[].groups[]"},
      {"paths", "resources[].groups[].paths[]"},
      {"usb", "resources[].groups[].usb[]"},
      {"selectors", "resources[].rdma.selectors"},
      {"triggers", "resources[].exec.triggers"},
      {"unit", "resources[].gpu.unit"},
      {"Programs", "resources[].health"}};
  const auto found = std::ranges::find(kMaps, section, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kMaps) ? "resources[]." + section : std::string(found->second);
}

std::string sentence_of(const std::string& path) {
  std::vector<std::string> above = components_of(path);
  if (above.empty() || path.ends_with("[]")) return {};
  const std::string key = above.back();
  above.pop_back();
  const auto belongs = [&](const Row& row, const std::string& to) {
    if (row.key != key) return false;
    if (row.section == to) return true;
    return std::ranges::find(kSections, std::pair(std::string_view(row.section), std::string_view(to))) !=
           std::end(kSections);
  };
  if (above.empty())
    above = {"The top level"};
  else if (above.size() == 1 && (above[0] == "resources" || above[0] == "devices"))
    above = {"Entries"};
  for (auto to = above.rbegin(); to != above.rend(); ++to) {
    const auto row = std::ranges::find_if(rows(), [&](const Row& each) { return belongs(each, *to); });
    if (row != rows().end()) return row->text;
  }
  // The key above may say it: "map. `directory` (`/var/run/cdi`): where ...".
  const std::string whole = path.rfind('.') == path.npos ? "" : sentence_of(path.substr(0, path.rfind('.')));
  return whole.find('`' + key + '`') == whole.npos ? "" : whole;
}

}  // namespace

Json config_schema() {
  Json schema = json_schema(recorded(), sentence_of);
  schema["properties"]["devices"] =
      Json{{"$ref", "#/properties/resources"}, {"description", sentence_of("devices")}};
  return schema;
}

std::vector<std::string> places_of(const std::string& key) {
  std::vector<std::string> places;
  for (const Row& row : rows())
    if (row.key == key) places.push_back(map_of(row.section));
  return places;
}

std::string without_brackets(std::string plain_path) {
  std::erase_if(plain_path, [](char c) { return c == '[' || c == ']'; });
  return plain_path;
}

std::optional<std::string> explain_key(const std::string& path) {
  const std::vector<std::string> wanted = components_of(path);
  const Shapes shapes = recorded();
  std::optional<std::string> text;
  std::vector<TableRow> keys;
  for (const auto& [known, shape] : shapes.all()) {
    std::vector<std::string> components = components_of(known);
    if (components == wanted && !known.ends_with("[]")) text = sentence_of(known);
    if (components.size() != wanted.size() + 1 || known.ends_with("[]")) continue;
    const std::string key = components.back();
    components.pop_back();
    if (components == wanted && key != "*") keys.push_back({key, sentence_of(known)});
  }
  if (wanted.empty()) text = "";
  if (!text) return std::nullopt;
  std::ostringstream out;
  if (!path.empty()) out << path << ": " << *text << '\n';
  if (!keys.empty()) out << '\n';
  for (const TableRow& row : keys)
    out << "  " << row[0] << std::string(row[0].size() < 20 ? 20 - row[0].size() : 1, ' ') << row[1] << '\n';
  return out.str();
}

}  // namespace plughost
