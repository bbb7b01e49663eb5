#include "tools/plan/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/json.hpp"
#include "base/text/words.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;
using Parsed = nlohmann::json;

constexpr int kDeepest = 64;  // limit for nested objects: no path is deeper
constexpr Word<FileType> kTypes[] = {{"file", FileType::kRegular},   {"link", FileType::kLink},
                                     {"char", FileType::kCharacter}, {"block", FileType::kBlock},
                                     {"socket", FileType::kSocket},  {"fifo", FileType::kFifo},
                                     {"other", FileType::kOther}};

// Example: "line 3, column 7".
std::string place_in(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(std::max<std::size_t>(before.size() - begin, 1));
}

Parsed parse(std::string_view text) try {
  using Event = Parsed::parse_event_t;
  return Parsed::parse(text, [](int depth, Event event, const Parsed&) {
    if (depth >= kDeepest && (event == Event::object_start || event == Event::array_start))
      throw FactsError("it has more than " + std::to_string(kDeepest) +
                       (event == Event::object_start ? " objects" : " lists") + " in each other");
    return true;
  });
} catch (const Parsed::parse_error& exception) {
  throw FactsError(exception.byte > text.size() ? "the file ends too early, at " + place_in(text, text.size())
                                                : "this is no JSON at " + place_in(text, exception.byte));
}

// Parses an array such as ["link", "target"] or ["socket"]; nullopt for anything else.
std::optional<File> special_of(const Parsed& json) {
  const auto is_text = [](const Parsed& each) { return each.is_string(); };
  if (!json.is_array() || json.empty() || !std::ranges::all_of(json, is_text)) return std::nullopt;
  const auto type = value_of(kTypes, json.front().get_ref<const std::string&>());
  const bool wants_text = type && (*type == FileType::kLink || is_device_node(*type));
  if (!type || json.size() != (wants_text ? 2U : 1U)) return std::nullopt;
  return File{.type = *type,
              .text = wants_text ? std::optional(json.back().get<std::string>()) : std::nullopt};
}

File file_of(Parsed& json, const std::string& name) {
  if (auto* const text = json.get_ptr<std::string*>())
    return {.type = FileType::kRegular, .text = std::move(*text)};
  if (auto* const entries = json.get_ptr<Parsed::object_t*>()) {
    File directory;
    for (auto& [below, value] : *entries) directory.make(below) = file_of(value, below);
    return directory;
  }
  if (auto special = special_of(json)) return *std::move(special);
  throw FactsError(
      "`tree`: " + json_string(name) +
      " is none of these: an object (a directory), a text (a file), a list such as [\"link\", \"../x\"]");
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.array()) texts.push_back(text.text());
  return texts;
}

NvmlView::Unit unit_of(const Json& json, std::string index) {
  NvmlView::Unit unit{.uuid = json["uuid"].text(),
                      .name = json["name"].text(),
                      .index = json["index"].text(),
                      .pci = json["pci"].text(),
                      .profile = json["profile"].text(),
                      .memory = static_cast<std::uint64_t>(json["memory"].number()),
                      .nodes = texts_of(json["nodes"])};
  if (unit.index.empty()) unit.index = std::move(index);
  if (!json["minor"].is_null()) unit.minor = static_cast<unsigned>(json["minor"].number());
  for (const Json& bond : json["bonds"].array())
    unit.bonds.push_back({.pci = bond["pci"].text(), .score = static_cast<unsigned>(bond["score"].number())});
  return unit;
}

NvmlView nvml_of(const Json& rest) {
  NvmlView view;
  if (rest["nvml"].is_null()) {
    view.error = rest["nvmlTrouble"].text();
    view.refuses = rest["nvmlRefuses"].truth();
    if (view.error.empty()) view.error = "it was missing when the facts were recorded";
    return view;
  }
  for (const Json& json : rest["nvml"]["cards"].array()) {
    NvmlView::Card& card = view.cards.emplace_back();
    static_cast<NvmlView::Unit&>(card) = unit_of(json, std::to_string(view.cards.size() - 1));
    card.mig_enabled = json["migEnabled"].truth();
    card.fabric_error = json["fabricTrouble"].text();
    for (const Json& part : json["parts"].array())
      card.parts.push_back({unit_of(part, card.index + ':' + std::to_string(card.parts.size()))});
    if (card.uuid.empty()) throw FactsError("`nvml`: a card has no uuid");
  }
  return view;
}

Json json_of(const NvmlView::Unit& unit) {
  Json json{{"uuid", unit.uuid}, {"name", unit.name}, {"index", unit.index}};
  if (!unit.pci.empty()) json["pci"] = unit.pci;
  if (!unit.profile.empty()) json["profile"] = unit.profile;
  if (unit.minor) json["minor"] = *unit.minor;
  if (unit.memory > 0) json["memory"] = unit.memory;
  json["nodes"] = unit.nodes;
  json["bonds"] = Json::Array();
  for (const Bond& bond : unit.bonds) json["bonds"].push_back(Json{{"pci", bond.pci}, {"score", bond.score}});
  return json;
}

Json json_of(const NvmlView& view) {
  Json cards = Json::Array();
  for (const NvmlView::Card& card : view.cards) {
    Json& json = cards.push_back(json_of(static_cast<const NvmlView::Unit&>(card)));
    json["migEnabled"] = card.mig_enabled;
    if (!card.fabric_error.empty()) json["fabricTrouble"] = card.fabric_error;
    json["parts"] = Json::Array();
    for (const NvmlView::Unit& part : card.parts) json["parts"].push_back(json_of(part));
  }
  return Json{{"cards", std::move(cards)}};
}

Json json_of(const File& file) {
  if (file.type == FileType::kDirectory) {
    Json::Object entries;
    for (const RecordedTree::Entry& entry : file.entries)
      entries.emplace_back(entry.name, json_of(entry.file));
    return entries;
  }
  if (file.type == FileType::kRegular && file.text) return *file.text;
  Json special = Json::Array();
  special.push_back(word_of(kTypes, file.type));
  if (file.type != FileType::kRegular && file.text) special.push_back(*file.text);
  return special;
}

}  // namespace

Facts read_facts(std::string_view text) {
  Parsed parsed = parse(text);
  if (!parsed.is_object())
    throw FactsError(parsed.is_array() ? "this is a list, not an object" : "this is no object");
  const auto machine = std::make_shared<RecordedMachine>();
  Parsed tree = std::exchange(parsed["tree"], nullptr);
  // The rest of the document is small, so it may be parsed again.
  const Json rest = Json::parse(parsed.dump(), {.other_numbers_as_text = true});
  const Json& version = rest["plughostFacts"];
  if (version.is_null())
    throw FactsError("these are no facts of a node: `plughostFacts` is missing; plughost facts prints some");
  if (version != Json(kFactsVersion))
    throw FactsError("these are facts of version " + version.dump() + ", and this plughost reads version " +
                     std::to_string(kFactsVersion) + "; record them again, or use the plughost that did");
  if (tree.is_object()) machine->tree.root() = file_of(tree, "tree");
  if (machine->tree.root().entries.empty()) throw FactsError("`tree` is missing, or empty");
  machine->nvml = nvml_of(rest);
  machine->node = rest["nodeName"].text();
  return {.node = rest["node"].text(), .recorded = rest["recorded"].text(), .machine = machine};
}

std::string text_of(const Facts& facts) {
  const RecordedMachine& machine = *facts.machine;
  Json json{{"plughostFacts", kFactsVersion}, {"node", facts.node}, {"recorded", facts.recorded}};
  if (!machine.node.empty()) json["nodeName"] = machine.node;
  if (machine.nvml.error.empty())
    json["nvml"] = json_of(machine.nvml);
  else
    json["nvmlTrouble"] = machine.nvml.error;
  if (machine.nvml.refuses) json["nvmlRefuses"] = true;
  json["tree"] = json_of(machine.tree.root());
  return json.dump();
}

}  // namespace plughost
