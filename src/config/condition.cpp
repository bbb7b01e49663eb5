#include "config/condition.hpp"

#include <algorithm>
#include <string_view>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& text) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, text); });
}

// Requires at least one pattern.
std::vector<std::string> read_patterns(Fields& fields, std::string_view key) {
  std::vector<std::string> patterns = fields.texts(key);
  if (patterns.empty()) fields.error(key, "must be a text or a list of texts; \"*\" stands for any");
  return patterns;
}

}  // namespace

Condition Condition::read(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  Condition condition;
  condition.mark_ = node.mark;
  condition.path_ = path;
  condition.cases_ = read_cases(node, path, diagnostics);
  return condition;
}

std::vector<Condition::Case> Condition::read_cases(const Node& node, const std::string& path,
                                                   Diagnostics& diagnostics) {
  if (node.kind != Node::Kind::kSequence) return {read_case(node, path, diagnostics)};
  if (node.items.empty()) diagnostics.error(node.mark, path, "the list has no condition in it");
  std::vector<Case> cases;
  for (std::size_t i = 0; const Node& item : node.items)
    cases.push_back(read_case(item, path + '[' + std::to_string(i++) + ']', diagnostics));
  return cases;
}

Condition::Case Condition::read_case(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  Case all;
  const std::size_t errors = diagnostics.error_count();
  Fields fields(node, path, diagnostics);
  const auto read = [&all](Fields& map, std::string_view key, Subject subject, const char* above = "") {
    if (map.has(key))
      all.terms.push_back(
          {.subject = subject, .name = above + std::string(key), .patterns = read_patterns(map, key)});
  };
  read(fields, "hostname", Subject::kHostname);
  read(fields, "arch", Subject::kArch);
  read(fields, "kernel", Subject::kKernel);
  read(fields, "node", Subject::kNode);
  read(fields, "exists", Subject::kExists);
  if (fields.has("exists")) {
    for (const std::string& pattern : all.terms.back().patterns) {
      if (const std::string error = path_error(pattern); !error.empty()) fields.error("exists", error);
    }
  }
  {
    Fields dmi = fields.below("dmi");
    read(dmi, "vendor", Subject::kVendor, "dmi.");
    read(dmi, "product", Subject::kProduct, "dmi.");
  }
  Fields labels = fields.below("label");
  for (const auto& [key, value] : or_nothing(fields.node("label")).members) {
    if (key.scalar == "matchExpressions" || key.scalar == "matchLabels") {
      labels.error(
          key.scalar,
          "is no label; write a label with its values, as in label: {kubernetes.io/arch: [amd64, arm64]}");
      continue;
    }
    read(labels, key.scalar, Subject::kLabel, "label ");
    all.terms.back().label = key.scalar;
  }
  if (const Node* const excluded = fields.node("not"))
    all.excluded = read_cases(*excluded, fields.path_of("not"), diagnostics);
  if (node.members.empty() && diagnostics.error_count() == errors)
    diagnostics.error(node.mark, path,
                      "the condition is empty; leave it out where the entry applies to every node");
  return all;
}

Verdict Condition::Term::evaluate(const NodeView& node) const {
  const auto compare = [&](const std::string& is, const std::string& also = {}) -> Verdict {
    if (any_matches(patterns, is) || (!also.empty() && any_matches(patterns, also))) return {};
    return {Verdict::Kind::kDoesNot, name + " is " + quote(is) + ", not " + joined(patterns, " or ")};
  };
  switch (subject) {
    case Subject::kHostname:
      return compare(node.machine.hostname);
    case Subject::kArch:
      return compare(node.machine.arch, kubernetes_arch(node.machine.arch));
    case Subject::kKernel:
      return compare(node.machine.kernel);
    case Subject::kVendor:
      return compare(node.machine.vendor);
    case Subject::kProduct:
      return compare(node.machine.product);
    case Subject::kNode:
      if (node.labels.node.empty())
        return {Verdict::Kind::kUnknown, "the node's name is not known: " + node.labels.error};
      return compare(node.labels.node);
    case Subject::kLabel: {
      if (!node.labels.error.empty())
        return {Verdict::Kind::kUnknown, "the node's labels are not known: " + node.labels.error};
      const auto found = node.labels.labels.find(label);
      return found == node.labels.labels.end() ? Verdict{Verdict::Kind::kDoesNot, "the node has no " + name}
                                               : compare(found->second);
    }
    case Subject::kExists:
      for (const std::string& pattern : patterns) {
        if (!node.exists(pattern)) return {Verdict::Kind::kDoesNot, pattern + " does not exist"};
      }
      return {};
  }
  return {};
}

Verdict Condition::Case::evaluate(const NodeView& node) const {
  Verdict unknown;
  for (const Term& term : terms) {
    Verdict verdict = term.evaluate(node);
    if (verdict.kind == Verdict::Kind::kDoesNot) return verdict;
    if (verdict.kind == Verdict::Kind::kUnknown) unknown = std::move(verdict);
  }
  for (const Case& other : excluded) {
    Verdict verdict = other.evaluate(node);
    if (verdict.kind == Verdict::Kind::kApplies)
      return {Verdict::Kind::kDoesNot, "what `not` excludes is so: " + other.text()};
    if (verdict.kind == Verdict::Kind::kUnknown) unknown = std::move(verdict);
  }
  return unknown;
}

Verdict Condition::evaluate(const NodeView& node) const {
  Verdict none{Verdict::Kind::kDoesNot, {}};
  for (const Case& each : cases_) {
    Verdict verdict = each.evaluate(node);
    if (verdict.kind == Verdict::Kind::kApplies) return verdict;
    if (verdict.kind == Verdict::Kind::kUnknown) none.kind = Verdict::Kind::kUnknown;
    none.why += (none.why.empty() ? "" : "; ") + verdict.why;
  }
  return none;
}

std::string Condition::Term::text() const {
  return name + ' ' + joined(patterns, subject == Subject::kExists ? " and " : " or ");
}

std::string Condition::Case::text() const {
  std::vector<std::string> texts;
  for (const Term& term : terms) texts.push_back(term.text());
  if (!excluded.empty()) texts.push_back("not " + text_of(excluded));
  return joined(texts, ", ");
}

std::string Condition::text_of(const std::vector<Case>& cases) {
  std::vector<std::string> texts;
  for (const Case& each : cases) texts.push_back(each.text());
  return texts.size() == 1 ? texts[0] : '(' + joined(texts, ") or (") + ')';
}

std::string Condition::text() const { return text_of(cases_); }

std::vector<const Condition::Term*> Condition::terms_of(const std::vector<Case>& cases) {
  std::vector<const Term*> all;
  for (const Case& each : cases) {
    for (const Term& term : each.terms) all.push_back(&term);
    std::ranges::copy(terms_of(each.excluded), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> Condition::paths() const {
  std::vector<std::string> paths;
  for (const Term* const term : terms_of(cases_)) {
    if (term->subject == Subject::kExists) std::ranges::copy(term->patterns, std::back_inserter(paths));
  }
  return paths;
}

bool Condition::has(Subject subject) const {
  const std::vector<const Term*> terms = terms_of(cases_);
  return std::ranges::find(terms, subject, &Term::subject) != terms.end();
}

}  // namespace plughost
