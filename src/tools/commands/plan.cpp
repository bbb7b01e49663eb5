// plughost plan: prints what a configuration would give on recorded nodes, and what it would change there.

#include "tools/plan/plan.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "base/text/text.hpp"
#include "host/hardware/machine_files.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFacts = 64u << 20;  // largest facts of one node, in bytes
constexpr std::size_t kWidth = 60;             // longest list of ids or nodes in a line, in characters

struct SeenNode {
  std::string name;
  std::string file;
  std::string recorded;
  std::optional<PlannedNode> before;  // nullopt: no previous configuration was given
  PlannedNode after;
  std::vector<PlannedChange> changes;

  bool differs() const { return !changes.empty(); }
  bool fails() const { return !after.errors.empty(); }
};

struct Unusable {
  std::string file;
  std::string why;
};

struct Fleet {
  std::vector<SeenNode> nodes;
  std::vector<Unusable> unusable;
  bool compared = false;
};

// Returns the file `place`, or a directory's files by name. Throws std::system_error if listing fails.
std::vector<std::string> files_in(const std::string& place) {
  std::vector<std::string> files;
  if (!fs::is_directory(place)) return {place};
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Facts facts_in(const std::string& file) {
  const auto text = file_text(file, kMostFacts + 1);
  if (!text) throw FactsError("it cannot be read");
  if (text->size() > kMostFacts)
    throw FactsError("it is larger than " + std::to_string(kMostFacts >> 20) + " MiB");
  return read_facts(*text);
}

// Returns the node's name; if another node has the name, adds the name of the file.
std::string name_of(const Facts& facts, const std::string& file, std::set<std::string>& taken) {
  const std::string name = facts.node.empty() ? fs::path(file).stem().string() : facts.node;
  return taken.insert(name).second ? name : name + " (" + fs::path(file).filename().string() + ")";
}

Fleet look_at(const std::vector<std::string>& files, const Config* before, const Config& after) {
  Fleet fleet;
  fleet.compared = before != nullptr;
  std::set<std::string> names;
  for (const std::string& file : files) {
    try {
      const Facts facts = facts_in(file);
      fleet.nodes.push_back({.name = name_of(facts, file, names),
                             .file = file,
                             .recorded = facts.recorded,
                             .before = before ? std::optional(plan(*before, facts)) : std::nullopt,
                             .after = plan(after, facts),
                             .changes = {}});
    } catch (const FactsError& exception) {
      fleet.unusable.push_back({file, exception.what()});
    }
  }
  for (SeenNode& node : fleet.nodes) {
    if (node.before) node.changes = changes_between(*node.before, node.after);
  }
  return fleet;
}

// Returns the first words, up to kWidth characters, and the number of the other words.
std::string some_of(const std::vector<std::string>& words) {
  std::string text;
  std::size_t shown = 0;
  for (; shown < words.size(); ++shown) {
    if (shown > 0 && text.size() + words[shown].size() > kWidth) break;
    text += (shown > 0 ? ", " : "") + words[shown];
  }
  return text + (shown < words.size() ? " and " + std::to_string(words.size() - shown) + " more" : "");
}

// Returns "8", or "8 (1 Unhealthy)"; empty: not offered.
std::string count_text(const PlannedResource* resource) {
  if (!resource) return "";
  if (resource->unknown) return "?";
  const std::size_t sick = resource->count() - resource->healthy();
  return std::to_string(resource->count()) + (sick > 0 ? " (" + std::to_string(sick) + " Unhealthy)" : "");
}

std::string difference_text(const PlannedChange& change) {
  std::vector<std::string> parts;
  if (!change.added.empty()) parts.push_back("new: " + some_of(change.added));
  if (!change.removed.empty()) parts.push_back("gone: " + some_of(change.removed));
  if (!change.changed.empty()) parts.push_back("other: " + some_of(change.changed));
  if (parts.empty()) parts.emplace_back(!change.before ? "new" : !change.after ? "gone" : "of another kind");
  return joined(parts, "; ");
}

void print_changes(const Fleet& fleet) {
  std::vector<TableRow> rows;
  std::vector<std::string> same;
  for (const SeenNode& node : fleet.nodes) {
    if (!node.differs()) same.push_back(node.name);
    for (const PlannedChange& change : node.changes)
      rows.push_back({node.name, change.resource, count_text(change.before), count_text(change.after),
                      difference_text(change)});
  }
  if (!rows.empty()) print_table(std::cout, {"NODE", "RESOURCE", "BEFORE", "AFTER", "DIFFERENCE"}, rows);
  if (same.empty()) return;
  std::cout << counted(same.size(), "node") << (same.size() == 1 ? " does" : " do")
            << " not differ: " << some_of(same) << '\n';
}

void print_offers(const Fleet& fleet) {
  std::vector<TableRow> rows;
  std::vector<std::string> bare;
  for (const SeenNode& node : fleet.nodes) {
    if (node.after.resources.empty()) bare.push_back(node.name);
    for (const auto& [name, resource] : node.after.resources) {
      std::vector<std::string> ids;
      for (const auto& [id, device] : resource.devices) ids.push_back(id_text(id, device.replicas));
      rows.push_back({node.name, name, count_text(&resource), some_of(ids)});
    }
  }
  if (!rows.empty()) print_table(std::cout, {"NODE", "RESOURCE", "DEVICES", "IDS"}, rows);
  if (bare.empty()) return;
  std::cout << counted(bare.size(), "node") << (bare.size() == 1 ? " offers" : " offer")
            << " nothing: " << some_of(bare) << '\n';
}

// Prints a line for each entry that does not apply to some node, although it did with the previous
// configuration. Without a previous configuration, prints all entries that do not apply to some node.
void print_not_here(const Fleet& fleet) {
  struct Places {
    std::size_t count = 0;
    std::string first;
  };
  std::map<std::pair<std::string, std::string>, Places> entries;  // by position and name
  for (const SeenNode& node : fleet.nodes) {
    for (const NotHere& other : node.after.others) {
      const auto is_it = [&](const NotHere& each) { return each.name == other.name; };
      if (node.before && std::ranges::any_of(node.before->others, is_it)) continue;
      Places& places = entries[{other.where, other.name}];
      if (places.count++ == 0) places.first = node.name + ": " + other.why;
    }
  }
  for (const auto& [entry, places] : entries)
    std::cout << "not here: " << entry.second << " (" << entry.first << "): on " << places.count << " of "
              << counted(fleet.nodes.size(), "node") << "; " << places.first << '\n';
}

void print_text(const Fleet& fleet) {
  if (fleet.compared)
    print_changes(fleet);
  else
    print_offers(fleet);
  print_not_here(fleet);
}

Json json_of(const PlannedNode& planned) {
  Json json{{"resources", Json::Array()}, {"notHere", Json::Array()}};
  for (const auto& [name, resource] : planned.resources) {
    Json& each = json["resources"].push_back(Json{{"resource", name},
                                                  {"known", !resource.unknown},
                                                  {"count", resource.count()},
                                                  {"healthy", resource.healthy()},
                                                  {"devices", Json::Array()}});
    for (const auto& [id, device] : resource.devices) {
      Json& listed = each["devices"].push_back(Json{{"id", id}});
      if (device.replicas > 1) listed["replicas"] = device.replicas;
      if (!device.error.empty()) listed["reason"] = device.error;
    }
  }
  for (const NotHere& other : planned.others)
    json["notHere"].push_back(Json{{"name", other.name}, {"where", other.where}, {"why", other.why}});
  json["errors"] = planned.errors;
  json["notes"] = planned.remarks;
  return json;
}

Json json_of(const Fleet& fleet) {
  Json json{{"nodes", Json::Array()}, {"unusable", Json::Array()}};
  for (const SeenNode& node : fleet.nodes) {
    Json& each = json["nodes"].push_back(
        Json{{"node", node.name}, {"file", node.file}, {"recorded", node.recorded}, {"fails", node.fails()}});
    if (node.before) {
      each["differs"] = node.differs();
      each["changes"] = Json::Array();
      for (const PlannedChange& change : node.changes)
        each["changes"].push_back(Json{{"resource", change.resource},
                                       {"before", change.before ? Json(change.before->count()) : Json()},
                                       {"after", change.after ? Json(change.after->count()) : Json()},
                                       {"added", change.added},
                                       {"removed", change.removed},
                                       {"changed", change.changed}});
      each["before"] = json_of(*node.before);
    }
    each["after"] = json_of(node.after);
  }
  for (const Unusable& file : fleet.unusable)
    json["unusable"].push_back(Json{{"file", file.file}, {"error", file.why}});
  return json;
}

// Returns the remarks on a node, and why devices are Unhealthy.
std::set<std::string> notes_on(const PlannedNode& node) {
  std::set<std::string> notes(node.remarks.begin(), node.remarks.end());
  for (const auto& [name, resource] : node.resources) {
    for (const auto& [id, device] : resource.devices) {
      if (!device.error.empty()) notes.insert(name + ": Unhealthy: " + device.error);
    }
  }
  return notes;
}

// Prints each note once, with its nodes. Leaves out notes that the previous configuration causes as well.
void print_notes(const Fleet& fleet) {
  std::map<std::string, std::vector<std::string>> nodes;  // nodes by note
  for (const SeenNode& node : fleet.nodes) {
    const std::set<std::string> known = node.before ? notes_on(*node.before) : std::set<std::string>();
    for (const std::string& note : notes_on(node.after)) {
      if (!known.contains(note)) nodes[note].push_back(node.name);
    }
  }
  for (const auto& [remark, names] : nodes)
    std::cerr << "note: " << remark << " (" << counted(names.size(), "node") << ": " << some_of(names)
              << ")\n";
}

int report(const Fleet& fleet, OutputFormat format) {
  if (format == OutputFormat::kTable)
    print_text(fleet);
  else
    print(std::cout, json_of(fleet), format);
  print_notes(fleet);
  bool fails = false;
  for (const SeenNode& node : fleet.nodes) {
    for (const std::string& error : node.after.errors)
      std::cerr << "error: " << node.name << ": " << error << '\n';
    fails = fails || node.fails();
  }
  for (const Unusable& file : fleet.unusable) std::cerr << "error: " << file.file << ": " << file.why << '\n';
  return !fleet.unusable.empty() ? 2 : fails ? 1 : 0;
}

}  // namespace

int plan(const PlanOptions& options) {
  try {
    const std::vector<std::string> files = files_in(options.facts);
    if (files.empty()) {
      std::cerr << options.facts << ": there is no *.json in it; plughost facts prints one on each node\n";
      return kUsedWrongly;
    }
    std::optional<Config> before;
    if (!options.former.empty()) before = load_config(options.former);
    const Config after = given_config(options.file);
    return report(look_at(files, before ? &*before : nullptr, after), options.format);
  } catch (const fs::filesystem_error& exception) {
    std::cerr << options.facts << ": " << exception.code().message() << '\n';
    return kUsedWrongly;
  }
}

}  // namespace plughost
