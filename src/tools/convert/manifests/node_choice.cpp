#include "tools/convert/manifests/node_choice.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text/text.hpp"
#include "tools/convert/manifests/arguments.hpp"

namespace plughost {
namespace {

using Terms = std::vector<LabelTerm>;

// Labels that describe the node's hardware.
bool tells_of_hardware(std::string_view label) {
  static constexpr std::string_view kLabels[] = {
      "nvidia.com/gpu.present", "nvidia.com/gpu.deploy.device-plugin", "nvidia.com/mps.capable"};
  return label.find("feature.node.kubernetes.io/") != std::string_view::npos ||
         std::ranges::find(kLabels, label) != std::end(kLabels);
}

// Returns true for a label that adds nothing: plughost runs on Linux only, and its own label keeps other
// plugins away.
bool says_nothing(std::string_view label) {
  return label == "kubernetes.io/os" || label == "beta.kubernetes.io/os" || label == "plughost";
}

class ChoiceReader {
 public:
  void add(LabelTerm term, Terms& terms) {
    if (says_nothing(term.label)) return;
    if (std::ranges::any_of(term.values, is_placeholder))
      return choice.unsaid.push_back(term.label + ' ' + joined(term.values, ", "));
    if (tells_of_hardware(term.label))
      choice.of_hardware.push_back(term.label + (term.is ? ": " : " is not ") +
                                   (term.values.empty() ? "there" : joined(term.values, " or ")));
    else
      terms.push_back(std::move(term));
  }

  Terms selector(const Node& map) {
    Terms terms;
    for (const auto& [label, value] : map.members)
      add({.label = label.scalar, .is = true, .values = {value.scalar}}, terms);
    return terms;
  }

  Terms expressions(const Node& term) {
    Terms terms;
    for (const Node& each : or_nothing(term.find("matchExpressions")).items) {
      const std::string& key = or_nothing(each.find("key")).scalar;
      const std::string& how = or_nothing(each.find("operator")).scalar;
      LabelTerm one{.label = key, .is = how == "In" || how == "Exists", .values = {}};
      for (const Node& value : or_nothing(each.find("values")).items) one.values.push_back(value.scalar);
      if (how == "Gt" || how == "Lt")
        choice.unsaid.push_back(key + ' ' + how + ' ' + joined(one.values, ", "));
      else
        add(std::move(one), terms);
    }
    for (const Node& each : or_nothing(term.find("matchFields")).items)
      choice.unsaid.push_back("the field " + or_nothing(each.find("key")).scalar);
    return terms;
  }

  NodeChoice choice;
};

template <typename Item>
std::vector<Item> all_of(std::vector<Item> some, const std::vector<Item>& others) {
  for (const Item& other : others) {
    if (std::ranges::find(some, other) == some.end()) some.push_back(other);
  }
  return some;
}

// Returns terms that are true if all of both are. Of one label, the values that both terms have remain.
Terms merged(Terms terms, const Terms& others) {
  for (const LabelTerm& other : others) {
    const auto same = std::ranges::find_if(terms, [&](const LabelTerm& each) {
      return each == other || (each.is && other.is && each.label == other.label);
    });
    if (same == terms.end())
      terms.push_back(other);
    else if (same->values.empty())
      *same = other;
    else if (!other.values.empty())
      std::erase_if(same->values, [&](const std::string& value) {
        return std::ranges::find(other.values, value) == other.values.end();
      });
  }
  return terms;
}

}  // namespace

NodeChoice node_choice(const Node& pod) {
  ChoiceReader reading;
  NodeChoice by_selector;
  if (Terms terms = reading.selector(or_nothing(pod.find("nodeSelector"))); !terms.empty())
    by_selector.any_of = {std::move(terms)};
  NodeChoice by_affinity;
  const Node& affinity = or_nothing(or_nothing(pod.find("affinity")).find("nodeAffinity"));
  const Node& required = or_nothing(affinity.find("requiredDuringSchedulingIgnoredDuringExecution"));
  for (const Node& term : or_nothing(required.find("nodeSelectorTerms")).items)
    by_affinity.any_of.push_back(reading.expressions(term));
  // An alternative without terms allows all nodes.
  if (std::ranges::any_of(by_affinity.any_of, &Terms::empty)) by_affinity.any_of.clear();
  NodeChoice choice = both(by_selector, by_affinity);
  choice.of_hardware = std::move(reading.choice.of_hardware);
  choice.unsaid = std::move(reading.choice.unsaid);
  return choice;
}

NodeChoice both(const NodeChoice& one, const NodeChoice& other) {
  NodeChoice all;
  for (const Terms& terms : one.any_of) {
    if (other.any_of.empty()) all.any_of.push_back(terms);
    for (const Terms& others : other.any_of) all.any_of.push_back(merged(terms, others));
  }
  if (one.any_of.empty()) all.any_of = other.any_of;
  all.of_hardware = all_of(one.of_hardware, other.of_hardware);
  all.unsaid = all_of(one.unsaid, other.unsaid);
  return all;
}

NodeChoice either(const NodeChoice& one, const NodeChoice& other) {
  NodeChoice all;
  if (!one.any_of.empty() && !other.any_of.empty()) all.any_of = all_of(one.any_of, other.any_of);
  all.of_hardware = all_of(one.of_hardware, other.of_hardware);
  all.unsaid = all_of(one.unsaid, other.unsaid);
  return all;
}

}  // namespace plughost
