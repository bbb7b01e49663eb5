#include "convert/node_condition.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "text/text.hpp"
#include "text/words.hpp"

namespace plughost {
namespace {

// By which NVIDIA's plugin chooses among its configurations.
constexpr const char* kConfigurationLabel = "nvidia.com/device-plugin.config";

// Labels that `when` has words of its own for, which need no API server.
constexpr Word<std::string_view> kOwnWords[] = {{"kubernetes.io/arch", "arch"},
                                                {"beta.kubernetes.io/arch", "arch"},
                                                {"kubernetes.io/hostname", "hostname"}};

YamlDraft values_of(const LabelTerm& term) {
  if (term.values.empty()) return "*";
  if (term.values.size() == 1) return term.values.front();
  return term.values;
}

// All of the terms.
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

// Somebody has to know the node's labels.
void need_labels(ConfigDraft& draft) {
  if (draft.top.find("apiServer")) return;
  YamlDraft& server = draft.top.add("apiServer", YamlDraft::flow_map());
  server.notes.emplace_back("Who knows the node's labels, for `when`. A file does, too: `nodeLabels`.");
}

}  // namespace

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
