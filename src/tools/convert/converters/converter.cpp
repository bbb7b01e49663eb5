#include "tools/convert/converters/converter.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/template.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"

namespace plughost {
namespace {

// NVIDIA's plugin selects its configuration by this label.
constexpr const char* kConfigurationLabel = "nvidia.com/device-plugin.config";

// Labels for which `when` has keys of its own, which need no API server.
constexpr Word<std::string_view> kOwnWords[] = {{"kubernetes.io/arch", "arch"},
                                                {"beta.kubernetes.io/arch", "arch"},
                                                {"kubernetes.io/hostname", "hostname"}};

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
    const auto word = value_of(kOwnWords, term.label);
    YamlDraft one = YamlDraft::flow_map();
    YamlDraft& of_one = term.is ? (word ? condition : labels) : one;
    of_one.add(word ? std::string(*word) : term.label, values_of(term));
    if (term.is) continue;
    others.add(word ? std::move(one) : YamlDraft::flow_map({{"label", std::move(one)}}));
  }
  if (!labels.empty()) condition.add("label", std::move(labels));
  if (others.items.size() == 1) condition.add("not", std::move(others.items.front()));
  if (others.items.size() > 1) condition.add("not", std::move(others));
  return condition;
}

// Adds a note that the configuration needs the node's labels.
void need_labels(ConfigDraft& draft) {
  if (draft.top.find("apiServer")) return;
  YamlDraft& server = draft.top.add("apiServer", YamlDraft::flow_map());
  server.notes.emplace_back("Who knows the node's labels, for `when`. A file does, too: `nodeLabels`.");
}

}  // namespace

YamlDraft sharing_draft(unsigned theirs) {
  YamlDraft draft = std::min(theirs, kMostSharing);
  if (theirs > kMostSharing)
    draft.notes.push_back(loss("The number was " + std::to_string(theirs) + "; plughost has at most " +
                               std::to_string(kMostSharing) + '.'));
  return draft;
}

YamlDraft gpu_entry(const char* name, const char* vendor) {
  return YamlDraft::map({{"name", name}, {"gpu", YamlDraft::map({{"vendor", vendor}})}});
}

std::string literal_name(std::string_view domain, std::string_view name) {
  return Template::escape(std::string(domain) + '/' + std::string(name));
}

std::string hardware_id(std::string_view text) {
  if (const auto id = hex_digits(text, 4)) return *id;
  return hex_digits("0x" + std::string(text), 4).value_or("");
}

std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Diagnostics& diagnostics) {
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

std::optional<std::string> setting(LenientFields& file, const char* key, Arguments& arguments,
                                   const char* flag) {
  auto from_file = file.text(key);
  auto from_flag = arguments.value(flag);
  return from_flag ? from_flag : from_file;
}

void set_nodes(const FoundPlugin& found, ConfigDraft& draft) {
  NodeChoice nodes = found.nodes;
  if (!found.choice.empty()) {
    const std::vector<std::string> chosen =
        found.is_default ? found.other_choices : std::vector{found.choice};
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
    needs_labels = needs_labels || std::ranges::any_of(terms, [](const LabelTerm& term) {
                     return !value_of(kOwnWords, term.label).has_value();
                   });
  }
  if (when.items.size() == 1) when = YamlDraft(std::move(when.items.front()));
  for (YamlDraft& entry : draft.resources.items) {
    if (!entry.find("when")) entry.add("when", when);
  }
  if (needs_labels) need_labels(draft);
}

}  // namespace plughost
