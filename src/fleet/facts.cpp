#include "fleet/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/words.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;

constexpr std::size_t kDeepest = 64;  // of objects in each other: no path is longer
constexpr Word<FileType> kTypes[] = {{"file", FileType::kRegular},   {"link", FileType::kLink},
                                     {"char", FileType::kCharacter}, {"block", FileType::kBlock},
                                     {"socket", FileType::kSocket},  {"fifo", FileType::kFifo},
                                     {"other", FileType::kOther}};

// "line 3, column 7".
std::string place_in(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(std::max<std::size_t>(before.size() - begin, 1));
}

// Takes a document as it is parsed: the tree's files go where they belong at once, and the rest, which is
// little, becomes a value.
class FactsReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit FactsReader(std::string_view text) : text_(text) { directories_.reserve(kDeepest); }

  std::string trouble;  // empty: all of it could be read
  RecordedMachine machine;
  Json rest = Json::Object();

  bool null() override { return take(Json()); }
  bool boolean(bool truth) override { return take(Json(truth)); }
  bool number_integer(number_integer_t number) override { return take(Json(number)); }
  bool number_unsigned(number_unsigned_t number) override {
    return std::in_range<std::int64_t>(number) ? take(Json(static_cast<std::int64_t>(number))) : take(Json());
  }
  bool number_float(number_float_t, const string_t&) override { return take(Json()); }
  bool binary(binary_t&) override { return false; }

  bool string(string_t& text) override {
    if (directories_.empty()) return take(Json(std::move(text)));
    if (special_) {
      words_.push_back(std::move(text));
      return true;
    }
    place() = {.type = FileType::kRegular, .text = std::move(text), .entries = {}};
    return true;
  }

  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }

  bool start_object(std::size_t) override {
    if (++depth_ > kDeepest)
      return refuse("it has more than " + std::to_string(kDeepest) + " objects in each other");
    if (special_) return refuse_entry();
    if (!directories_.empty()) {
      File& directory = place();
      directory = File{};
      directories_.push_back(&directory);
      return true;
    }
    if (depth_ == 2 && name_ == "tree" && values_.size() == 1) {
      machine.tree.root() = File{};
      directories_.push_back(&machine.tree.root());
      return true;
    }
    return open(Json::Object());
  }
  bool end_object() override {
    --depth_;
    if (directories_.empty())
      values_.pop_back();
    else
      directories_.pop_back();
    return true;
  }

  bool start_array(std::size_t) override {
    if (++depth_ > kDeepest)
      return refuse("it has more than " + std::to_string(kDeepest) + " lists in each other");
    if (special_) return refuse_entry();
    if (directories_.empty()) return open(Json::Array());
    special_ = true;
    words_.clear();
    return true;
  }
  bool end_array() override {
    --depth_;
    if (directories_.empty()) {
      values_.pop_back();
      return true;
    }
    special_ = false;
    return take_special();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    trouble = position > text_.size() ? "the file ends too early, at " + place_in(text_, text_.size())
                                      : "this is no JSON at " + place_in(text_, position);
    return false;
  }

 private:
  bool refuse(std::string why) {
    trouble = std::move(why);
    return false;
  }
  bool refuse_entry() {
    return refuse(
        "`tree`: " + json_string(name_) +
        " is none of these: an object (a directory), a text (a file), a list such as [\"link\", \"../x\"]");
  }

  File& place() { return directories_.back()->make(name_); }

  bool take_special() {
    const auto type = words_.empty() ? std::nullopt : value_of(kTypes, words_.front());
    const bool wants_text = type && (*type == FileType::kLink || is_device_node(*type));
    if (!type || words_.size() != (wants_text ? 2U : 1U)) return refuse_entry();
    place() = {.type = *type,
               .text = wants_text ? std::optional(std::move(words_.back())) : std::nullopt,
               .entries = {}};
    return true;
  }

  bool take(Json value) {
    if (!directories_.empty()) return refuse_entry();
    if (values_.empty()) return refuse("this is no object");
    if (values_.size() == 1 && name_ == "plughostFacts" && value != Json(kFactsVersion))
      return refuse("these are facts of version " + value.dump() + ", and this plughost reads version " +
                    std::to_string(kFactsVersion) + "; record them anew, or use the plughost that did");
    put(std::move(value));
    return true;
  }

  Json& put(Json value) {
    const Open& into = values_.back();
    return into.is_list ? into.json->push_back(std::move(value)) : (*into.json)[name_] = std::move(value);
  }

  bool open(Json value) {
    const bool is_list = value == Json(Json::Array());
    if (!values_.empty()) {
      Json& opened = put(std::move(value));
      values_.push_back({&opened, is_list});
      return true;
    }
    if (is_list) return refuse("this is a list, not an object");
    values_.push_back({&rest, false});
    return true;
  }

  struct Open {
    Json* json;
    bool is_list;
  };

  std::string_view text_;
  std::size_t depth_ = 0;
  std::string name_;                // of the value that comes
  std::vector<File*> directories_;  // of the tree, those that are open: none of them grows meanwhile
  bool special_ = false;            // within a list in the tree, whose words are these
  std::vector<std::string> words_;
  std::vector<Open> values_;  // of the rest, those that are open
};

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
                      .minor = {},
                      .memory = static_cast<std::uint64_t>(json["memory"].number()),
                      .multiprocessors = static_cast<unsigned>(json["multiprocessors"].number()),
                      .slices = {.first = static_cast<unsigned>(json["memorySlices"]["first"].number()),
                                 .count = static_cast<unsigned>(json["memorySlices"]["count"].number())},
                      .nodes = texts_of(json["nodes"]),
                      .bonds = {}};
  if (unit.index.empty()) unit.index = std::move(index);
  if (!json["minor"].is_null()) unit.minor = static_cast<unsigned>(json["minor"].number());
  for (const Json& bond : json["bonds"].array())
    unit.bonds.push_back({.pci = bond["pci"].text(), .score = static_cast<unsigned>(bond["score"].number())});
  return unit;
}

NvmlView nvml_of(const Json& rest) {
  NvmlView view;
  if (rest["nvml"].is_null()) {
    view.trouble = rest["nvmlTrouble"].text();
    if (view.trouble.empty()) view.trouble = "it was not there when the facts were recorded";
    return view;
  }
  for (const Json& json : rest["nvml"]["cards"].array()) {
    NvmlView::Card& card = view.cards.emplace_back();
    static_cast<NvmlView::Unit&>(card) = unit_of(json, std::to_string(view.cards.size() - 1));
    card.mig_enabled = json["migEnabled"].truth();
    for (const Json& part : json["parts"].array())
      card.parts.push_back(unit_of(part, card.index + ':' + std::to_string(card.parts.size())));
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
  if (unit.multiprocessors > 0) json["multiprocessors"] = unit.multiprocessors;
  if (unit.slices.count > 0)
    json["memorySlices"] = Json{{"first", unit.slices.first}, {"count", unit.slices.count}};
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
  FactsReader reader(text);
  if (!nlohmann::json::sax_parse(text, &reader)) throw FactsError(reader.trouble);
  if (reader.rest["plughostFacts"].is_null())
    throw FactsError("these are no facts of a node: `plughostFacts` is missing; plughost facts prints some");
  if (reader.machine.tree.root().entries.empty()) throw FactsError("`tree` is missing, or empty");
  const auto machine = std::make_shared<RecordedMachine>(std::move(reader.machine));
  machine->nvml = nvml_of(reader.rest);
  machine->node = reader.rest["nodeName"].text();
  return {.node = reader.rest["node"].text(), .recorded = reader.rest["recorded"].text(), .machine = machine};
}

std::string text_of(const Facts& facts) {
  const RecordedMachine& machine = *facts.machine;
  Json json{{"plughostFacts", kFactsVersion}, {"node", facts.node}, {"recorded", facts.recorded}};
  if (!machine.node.empty()) json["nodeName"] = machine.node;
  if (machine.nvml.trouble.empty())
    json["nvml"] = json_of(machine.nvml);
  else
    json["nvmlTrouble"] = machine.nvml.trouble;
  json["tree"] = json_of(machine.tree.root());
  return json.dump();
}

}  // namespace plughost
