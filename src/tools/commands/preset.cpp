// plughost preset: prints the presets, which of them are linked, and which find devices on this machine.

#include <fstream>
#include <iostream>
#include <utility>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "config/presets.hpp"
#include "model/device/inventory.hpp"
#include "tools/commands/command.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

struct Row {
  Preset preset;
  Survey found;  // set with `here`
};

std::size_t device_count(const Survey& found) {
  std::size_t count = 0;
  for (const ResourceSnapshot& snapshot : found.snapshots) count += snapshot.inventory.devices().size();
  return count;
}

// Example: "dri/render: renderD128, renderD129".
std::string devices_text(const Survey& found) {
  std::string text;
  for (const ResourceSnapshot& snapshot : found.snapshots) {
    if (snapshot.inventory.empty()) continue;
    std::vector<std::string> ids;
    for (const Device& device : snapshot.inventory.devices())
      ids.push_back(device.id + (device.healthy() ? "" : " (Unhealthy: " + device.error + ')'));
    text += (text.empty() ? "" : "; ") + snapshot.resource + ": " + joined(ids, ", ");
  }
  return text;
}

// Returns what the preset would offer on this machine, without devices that exist only in the preset's text,
// as with `count`.
Survey look(const Preset& preset) {
  try {
    Config config = load_config(preset.file);
    std::erase_if(config.resources,
                  [](const ResourceConfig& entry) { return !entry.source->fixed_devices().empty(); });
    return survey(config, HostRoot());
  } catch (const ConfigError& exception) {
    Survey nothing;
    nothing.errors = {exception.what()};
    return nothing;
  }
}

// Returns all presets, or with `here` the presets that find devices on this machine.
std::vector<Row> rows_of(const Presets& presets, bool here) {
  std::vector<Row> rows;
  for (Preset& preset : presets.list()) {
    Row row{std::move(preset), {}};
    if (here && row.preset.there) row.found = look(row.preset);
    for (const std::string& error : row.found.errors) std::cerr << "error: " << error << '\n';
    if (!here || device_count(row.found) > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::string enabled_text(const Preset& preset) {
  switch (preset.link) {
    case Preset::Link::kNone:
      return "";
    case Preset::Link::kOurs:
      return preset.there ? "yes" : "yes, but it is gone";
    case Preset::Link::kOther:
      break;
  }
  return "another file";
}

Json json_of(const Row& row, bool here) {
  const Preset& preset = row.preset;
  Json json{{"name", preset.name},
            {"file", preset.file.string()},
            {"what", preset.what},
            {"enabled", preset.link == Preset::Link::kOurs}};
  if (!here) return json;
  json["devices"] = Json::Array();
  for (const ResourceSnapshot& snapshot : row.found.snapshots) {
    for (const Device& device : snapshot.inventory.devices())
      json["devices"].push_back(
          Json{{"resource", snapshot.resource}, {"id", device.id}, {"reason", device.error}});
  }
  return json;
}

void list(const Presets& presets, const PresetOptions& options) {
  const std::vector<Row> rows = rows_of(presets, options.here);
  if (options.format == OutputFormat::kName) {
    for (const Row& row : rows) std::cout << row.preset.name << '\n';
    return;
  }
  if (options.format != OutputFormat::kTable) {
    Json json = Json::Array();
    for (const Row& row : rows) json.push_back(json_of(row, options.here));
    return print(std::cout, json, options.format);
  }
  std::vector<TableRow> cells;
  for (const Row& row : rows)
    cells.push_back({row.preset.name, enabled_text(row.preset),
                     options.here ? devices_text(row.found) : row.preset.what});
  print_table(std::cout, {"PRESET", "ENABLED", options.here ? "FINDS HERE" : "WHAT"}, cells);
}

void show(const Presets& presets, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Preset preset = presets.get(name);
    std::ifstream file(preset.file);
    if (!file) throw PresetError(preset.file.string() + " cannot be read");
    std::cout << "# " << preset.file.string() << '\n' << file.rdbuf();
  }
}

// `changed` has the presets of `names` that have changed.
void tell(const std::vector<Preset>& changed, const std::vector<std::string>& names, const char* done) {
  std::vector<std::string> told;
  for (const Preset& preset : changed) told.push_back(preset.name);
  if (changed.empty()) {
    std::cout << "nothing to do: " << joined(names, ", ") << (names.size() == 1 ? " is " : " are ") << done
              << " already\n";
  } else {
    std::cout << done << ": " << joined(told, ", ") << "; run `plughost reload` to apply it\n";
  }
}

}  // namespace

int preset(const PresetOptions& options) {
  try {
    const Presets presets(options.presets, options.config);
    switch (options.action) {
      case PresetAction::kList:
        list(presets, options);
        break;
      case PresetAction::kShow:
        show(presets, options.names);
        break;
      case PresetAction::kEnable:
        tell(presets.enable(options.names), options.names, "enabled");
        break;
      case PresetAction::kDisable:
        tell(presets.disable(options.names), options.names, "disabled");
        break;
    }
    return 0;
  } catch (const PresetError& exception) {
    std::cerr << exception.what() << '\n';
  } catch (const ConfigError& exception) {
    std::cerr << exception.what() << "\nnothing was changed\n";
  }
  return 1;
}

}  // namespace plughost
