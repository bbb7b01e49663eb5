#include "tools/convert/converters/converter.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/ascii.hpp"
#include "base/text/template.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

bool same_word(std::string_view a, std::string_view b) { return to_lower(a) == to_lower(b); }

// NVIDIA's plugin selects its configuration by this label.
constexpr const char* kConfigurationLabel = "nvidia.com/device-plugin.config";

// Returns true for the label for which `when` has a key of its own, which needs no API server.
bool is_arch(const LabelTerm& term) {
  return term.label == "kubernetes.io/arch" || term.label == "beta.kubernetes.io/arch";
}

YamlDraft values_of(const LabelTerm& term) {
  if (term.values.empty()) return "*";
  if (term.values.size() == 1) return term.values.front();
  return term.values;
}

// Returns a condition that requires all of the terms.
YamlDraft condition_of(const std::vector<LabelTerm>& terms) {
  YamlDraft condition = YamlDraft::flow_map();
  YamlDraft labels = YamlDraft::flow_map();
  YamlDraft others = YamlDraft::list();
  for (const LabelTerm& term : terms) {
    YamlDraft one = YamlDraft::flow_map({{is_arch(term) ? "arch" : term.label, values_of(term)}});
    if (!term.is)
      others.add(is_arch(term) ? std::move(one) : YamlDraft::flow_map({{"label", std::move(one)}}));
    else
      (is_arch(term) ? condition : labels).members.push_back(std::move(one.members.front()));
  }
  if (!labels.empty()) condition.add("label", std::move(labels));
  if (others.items.size() == 1) condition.add("not", std::move(others.items.front()));
  if (others.items.size() > 1) condition.add("not", std::move(others));
  return condition;
}

// Splits "flags.plugin.passDeviceSpecs" before its last key.
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return {dot == std::string::npos ? "" : path.substr(0, dot), path.substr(dot + 1)};  // npos + 1 is 0
}

// Adds the value at the path, in maps that are created if they are missing. A list is appended to one that is
// there.
void put(YamlDraft& draft, std::string_view path, YamlDraft value) {
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  if (dot == std::string_view::npos) {
    if (YamlDraft* const list = draft.find(key))
      std::ranges::move(value.items, std::back_inserter(list->items));
    else
      draft.add(key, std::move(value));
    return;
  }
  YamlDraft* const found = draft.find(key);
  put(found ? *found : draft.add(key, YamlDraft::flow_map()), path.substr(dot + 1), std::move(value));
}

YamlDraft draft_of(const Node& node) {
  if (node.kind != Node::Kind::kMap) return node.scalar == "true" ? YamlDraft(true) : YamlDraft(node.scalar);
  YamlDraft draft = node.in_braces ? YamlDraft::flow_map() : YamlDraft::map();
  for (const auto& [key, value] : node.members) draft.add(key.scalar, draft_of(value));
  return draft;
}

bool is(const Node& row, const char* type) { return text_at(row, "as") == type; }

// Returns the usual name of the row's flag; empty: there is none.
std::string flag_of(const Node& row) {
  const std::vector<Node>& names = at(row, "flag").items;
  return names.empty() ? "" : names.front().scalar;
}

std::string name_of(const Node& row) { return row.find("key") ? text_at(row, "key") : "--" + flag_of(row); }

// Adds the texts of a list, and of lists in it.
void add_all(const Node& texts, Note::Weight weight, Notes& notes) {
  for (const Node& each : texts.items) {
    if (each.items.empty()) notes.emplace_back(each.scalar, weight);
    add_all(each, weight, notes);
  }
}

}  // namespace

YamlDraft sharing_draft(unsigned theirs) {
  YamlDraft draft = std::min(theirs, kMostSharing);
  if (theirs > kMostSharing)
    draft.notes.push_back(loss("The number was " + std::to_string(theirs) + "; plughost has at most " +
                               std::to_string(kMostSharing) + '.'));
  return draft;
}

std::string literal_name(std::string_view domain, std::string_view name) {
  return Template::escape(std::string(domain) + '/' + std::string(name));
}

std::string hardware_id(std::string_view text) {
  if (const auto id = hex_digits(text, 4)) return *id;
  return hex_digits("0x" + std::string(text), 4).value_or("");
}

std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Reading& diagnostics) {
  std::vector<std::string> ids;
  for (const std::string& text : texts) {
    ids.push_back(hardware_id(text));
    if (ids.back().empty())
      diagnostics.error(at.mark, path,
                        quote(text) + " is not a hardware id, which has four hexadecimal digits, as in 15b3");
  }
  return ids;
}

std::vector<std::string> words_between_commas(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) all.push_back(one);
  return all;
}

void add_notes(Notes& to, Notes notes) { std::ranges::move(notes, std::back_inserter(to)); }

void set_nodes(const FoundPlugin& found, ConfigDraft& draft) {
  NodeChoice nodes = found.nodes;
  if (!found.other_choices.empty()) {
    const std::vector<std::string> chosen = found.is_default ? found.other_choices : std::vector{found.key};
    nodes = both(
        nodes,
        {.any_of = {{{kConfigurationLabel, !found.is_default, chosen}}}, .of_hardware = {}, .unsaid = {}});
  }
  if (!nodes.of_hardware.empty())
    draft.notes.push_back(doubt("Theirs runs on nodes with " + joined(nodes.of_hardware, ", ") +
                                " only. That is left out: a node without the hardware offers none of it."));
  if (!nodes.unsaid.empty())
    draft.notes.push_back(loss("Theirs runs on some nodes only, by " + joined(nodes.unsaid, ", ") +
                               ", which `when` has no word for."));
  if (nodes.any_of.empty()) return;
  YamlDraft when = YamlDraft::list();
  bool needs_labels = false;
  for (const std::vector<LabelTerm>& terms : nodes.any_of) {
    when.add(condition_of(terms));
    needs_labels = needs_labels || !std::ranges::all_of(terms, is_arch);
  }
  if (when.items.size() == 1) when = YamlDraft(std::move(when.items.front()));
  for (YamlDraft& entry : draft.resources.items) {
    if (!entry.find("when")) entry.add("when", when);
  }
  if (needs_labels && !draft.top.find("apiServer"))
    draft.top.add("apiServer", YamlDraft::flow_map()).notes = {
        "Who knows the node's labels, for `when`. A file does, too: `nodeLabels`."};
}

PeerSettings::PeerSettings(const Node& table, const Node& root, std::string path, Arguments& arguments,
                           Reading& diagnostics)
    : table_(table), root_(root), path_(std::move(path)), arguments_(arguments), diagnostics_(diagnostics) {
  map("");
  for (const Node& row : at(table_, "settings").items) {
    for (const Node& other : at(row, "flag").items) arguments_.also_called(flag_of(row), other.scalar);
    if (!flag_of(row).empty()) arguments_.value(flag_of(row));
    node(row);
  }
}

LenientFields& PeerSettings::map(const std::string& path) {
  if (const auto found = maps_.find(path); found != maps_.end()) return found->second;
  const auto [outer, key] = split(path);
  const Node& node = path.empty() ? root_ : or_nothing(map(outer).node(key));
  const std::string place = path_ + (path_.empty() || path.empty() ? "" : ".") + path;
  return maps_.try_emplace(path, node, place, diagnostics_).first->second;
}

const Node& PeerSettings::row(std::string_view name) const {
  return *std::ranges::find_if(at(table_, "settings").items, [&](const Node& row) {
    return text_at(row, "key") == name || (!row.find("key") && flag_of(row) == name);
  });
}

const Node* PeerSettings::node(const Node& row) {
  const auto [path, key] = split(text_at(row, "key"));
  return key.empty() ? nullptr : map(path).node(key);
}

std::optional<std::string> PeerSettings::text_of(const Node& row) {
  const auto [path, key] = split(text_at(row, "key"));
  auto value = key.empty() ? std::nullopt : map(path).text(key);
  if (auto given = row.find("flag") ? arguments_.value(flag_of(row)) : std::nullopt) value = std::move(given);
  if (!value && row.find("fallback")) value = text_at(row, "fallback");
  return value;
}

bool PeerSettings::truth_of(const Node& row) {
  const auto [path, key] = split(text_at(row, "key"));
  const auto in_file = key.empty() ? std::nullopt : map(path).flag(key);
  const auto given = row.find("flag") ? arguments_.truth(flag_of(row)) : std::nullopt;
  return given.value_or(in_file.value_or(false));
}

std::vector<std::string> PeerSettings::texts_of(const Node& row) {
  const auto [path, key] = split(text_at(row, "key"));
  std::vector<std::string> all = map(path).texts(key);
  if (is(row, "ids")) return hardware_ids(all, or_nothing(node(row)), map(path).path_of(key), diagnostics_);
  if (const auto given = arguments_.values(flag_of(row)); !given.empty()) {
    all.clear();
    for (const std::string& list : given)  // "envvar,cdi-cri", or the flag repeated
      std::ranges::move(words_between_commas(list), std::back_inserter(all));
  }
  if (all.empty() && row.find("fallback")) all = {text_at(row, "fallback")};
  return all;
}

std::optional<std::string> PeerSettings::text(std::string_view name) { return text_of(row(name)); }

bool PeerSettings::truth(std::string_view name) { return truth_of(row(name)); }

std::vector<std::string> PeerSettings::texts(std::string_view name) { return texts_of(row(name)); }

Mark PeerSettings::mark(std::string_view name) { return or_nothing(node(row(name))).mark; }

void PeerSettings::write(const Node& row, YamlDraft& entry) {
  const std::string& to = text_at(row, "to");
  if (const Node* const value = node(row)) diagnostics_.record(*value, "becomes " + to);
  arguments_.record(flag_of(row), "becomes " + to);
  if (is(row, "texts") || is(row, "ids")) {
    const std::vector<std::string> all = texts_of(row);
    return all.empty() ? void() : put(entry, to, all);
  }
  if (is(row, "truth")) return truth_of(row) ? put(entry, to, true) : void();
  auto value = text_of(row);
  if (!value || *value == text_at(row, "unless")) return;
  if (const Node& values = at(row, "values"); !values.members.empty()) {
    if (!values.find(*value))
      entry.notes.push_back('`' + name_of(row) + "` is " + quote(*value) +
                            ", which theirs does not know: it takes " + text_at(row, "fallback") + '.');
    value = text_at(values, values.find(*value) ? *value : text_at(row, "fallback"));
  }
  put(entry, to, *std::move(value));
}

YamlDraft& PeerSettings::write(ConfigDraft& draft) {
  for (const auto& [key, value] : at(table_, "top").members) draft.top.add(key.scalar, draft_of(value));
  YamlDraft& entry = draft.resources.add(draft_of(at(table_, "entry")));
  for (const Node& row : at(table_, "settings").items)
    if (row.find("to")) write(row, entry);
  return entry;
}

void PeerSettings::finish(const Node& row, Notes& notes) {
  const bool is_given = node(row) || (row.find("flag") && arguments_.value(flag_of(row)));
  const bool is_set = is(row, "truth") ? truth_of(row) : is_given;
  if (!is_set && row.find("absent")) notes.emplace_back(text_at(row, "absent"));
  const bool is_usual = row.find("unless") && text_of(row) == text_at(row, "unless");
  const bool is_meant = !row.find("if") || text_of(row) == text_at(row, "if");
  if (!is_set || is_usual || !is_meant) return;
  if (row.find("lost")) notes.push_back(loss(text_at(row, "lost")));
  if (row.find("why")) notes.push_back('`' + name_of(row) + "` is left out: " + text_at(row, "why"));
  const std::string reason = text_at(row, row.find("why") ? "why" : "lost");
  if (reason.empty()) return;
  if (const Node* const value = node(row)) diagnostics_.record(*value, "left out: " + reason);
  arguments_.record(flag_of(row), "left out: " + reason);
}

void PeerSettings::finish(Notes& notes) {
  for (const Node& row : at(table_, "settings").items) finish(row, notes);
  for (const auto& [path, fields] : maps_) add_notes(notes, fields.notes());
}

void add_remarks(OtherPlugin plugin, Notes& notes) {
  add_all(at(peer_of(plugin), "losses"), Note::Weight::kLoss, notes);
  add_all(at(peer_of(plugin), "remarks"), Note::Weight::kRemark, notes);
}

void convert_by_table(OtherPlugin plugin, const Node& root, Arguments& arguments, ConfigDraft& draft,
                      Reading& diagnostics) {
  PeerSettings settings(plugin, root, arguments, diagnostics);
  settings.write(draft);
  settings.finish(draft.notes);
}

LenientFields::LenientFields(const Node& node, std::string path, Reading& diagnostics)
    : node_(node), path_(std::move(path)), diagnostics_(diagnostics) {
  if (node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kSequence)
    diagnostics_.error(node.mark, path_, std::string("must be a map, not ") + node.kind_name());
}

const Node* LenientFields::node(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = std::ranges::find_if(
      node_.members, [&](const Node::Member& member) { return same_word(member.first.scalar, key); });
  if (found == node_.members.end()) return nullptr;
  diagnostics_.record(found->second);
  return found->second.kind == Node::Kind::kNull ? nullptr : &found->second;
}

const Node* LenientFields::scalar(std::string_view key) {
  const Node* const value = node(key);
  const bool is_scalar = value && value->kind == Node::Kind::kScalar;
  if (is_scalar && !is_placeholder(value->scalar)) return value;
  if (is_scalar)
    error(*value, key, quote(value->scalar) + kFilledInLater);
  else if (value)
    refuse(*value, key, "a single value");
  return nullptr;
}

std::optional<std::string> LenientFields::text(std::string_view key) {
  const Node* const value = scalar(key);
  return value ? std::optional(value->scalar) : std::nullopt;
}

std::string LenientFields::require_text(std::string_view key) {
  const Node* const value = node(key);
  const bool is_map = node_.kind == Node::Kind::kMap || node_.kind == Node::Kind::kNull;
  const bool is_text = !value || (value->kind == Node::Kind::kScalar && !is_placeholder(value->scalar));
  const auto found = text(key);
  if (is_map && is_text && found.value_or("").empty())
    diagnostics_.error(node_.mark, path_, "the key '" + std::string(key) + "' is missing or empty");
  return found.value_or("");
}

std::optional<bool> LenientFields::flag(std::string_view key) {
  const Node* const value = scalar(key);
  if (!value) return std::nullopt;
  if (same_word(value->scalar, "true")) return true;
  if (!same_word(value->scalar, "false"))
    error(*value, key, "must be true or false, not " + quote(value->scalar));
  return false;
}

std::optional<unsigned> LenientFields::number(std::string_view key) {
  const Node* const value = scalar(key);
  if (!value) return std::nullopt;
  if (!is_digits(value->scalar)) error(*value, key, "must be a whole number, not " + quote(value->scalar));
  return number_in<unsigned>(value->scalar).value_or(std::numeric_limits<unsigned>::max());
}

std::vector<std::string> LenientFields::texts(std::string_view key) {
  const Node* const value = node(key);
  const bool is_one = value && value->kind == Node::Kind::kScalar;
  std::vector<std::string> texts;
  for (const Node& item : is_one ? std::vector{*value} : items(key)) {
    if (item.kind != Node::Kind::kScalar)
      refuse(item, key, "a list of texts");
    else if (is_placeholder(item.scalar))
      error(item, key, quote(item.scalar) + kFilledInLater);
    else
      texts.push_back(item.scalar);
  }
  return texts;
}

const std::vector<Node>& LenientFields::items(std::string_view key) {
  const Node& value = or_nothing(node(key));
  if (value.kind != Node::Kind::kSequence && value.kind != Node::Kind::kNull) refuse(value, key, "a list");
  return value.items;
}

void LenientFields::error(const Node& at, std::string_view key, std::string what) {
  diagnostics_.error(at.mark, path_of(key), std::move(what));
}

void LenientFields::refuse(const Node& at, std::string_view key, const char* wanted) {
  error(at, key, std::string("must be ") + wanted + ", not " + at.kind_name());
}

std::string LenientFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

Notes LenientFields::notes() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node_.members) {
    const bool known = std::ranges::any_of(
        asked_, [&, &name = key.scalar](const std::string& asked) { return same_word(asked, name); });
    if (!known) keys.push_back(quote(key.scalar));
  }
  if (keys.empty()) return {};
  return {loss(joined(keys, ", ") + ": plughost has nothing of that name; left out.")};
}

}  // namespace plughost
