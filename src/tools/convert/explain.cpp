#include "tools/convert/explain.hpp"

#include <algorithm>
#include <map>

#include "base/text/text.hpp"
#include "tools/convert/manifests/charts.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// Explains each key, flag and variable, as "PLACE: KEY: what became of it".
class Explaining {
 public:
  Explaining(const Reading& reading, ConfigDraft& draft) : reading_(reading), draft_(draft) {
    for (const YamlDraft& entry : draft.resources.items) {
      const std::string name = entry.find("name")->scalar.text();
      add_once(all_, name);
      for (const std::string& origin : entry.origins) add_once(names_[path_of(origin)], name);
    }
  }

  // `outer` is what became of the list or map around the value, if it was read as a whole.
  void key(const Node& node, const std::string& path, const std::optional<std::string>& outer) {
    auto became = reading_.became(node);
    if (outer && (!became || became->empty())) became = outer;
    const bool is_whole = node.kind == Node::Kind::kSequence || (became && !became->empty());
    for (const auto& [name, value] : node.members)
      key(value, path.empty() ? name.scalar : path + '.' + name.scalar, is_whole ? became : std::nullopt);
    for (std::size_t i = 0; i < node.items.size(); ++i)
      key(node.items[i], path + '[' + std::to_string(i) + ']', became);
    if (node.members.empty() && node.items.empty()) add(node.mark.text(), path, became);
  }

  void add(const std::string& place, const std::string& key, const std::optional<std::string>& became) {
    std::string what = became.value_or("left out");
    if (what.empty()) what = "read for " + first_of(names_for(key));
    draft_.explanations.push_back(place + ": " + printable(key) + ": " + what);
  }

 private:
  static void add_once(Texts& names, const std::string& name) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }

  // Returns "devices[0]" of "a.yaml:3:3: devices[0]".
  static std::string path_of(const std::string& origin) { return origin.substr(origin.rfind(' ') + 1); }

  // Returns the entries that were made of a map around the key; if there is none, every entry.
  const Texts& names_for(const std::string& path) const {
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      if (const auto found = names_.find(path.substr(0, dot)); found != names_.end()) return found->second;
    }
    return all_;
  }

  const Reading& reading_;
  ConfigDraft& draft_;
  Texts all_;
  std::map<std::string, Texts> names_;  // by the path of the map
};

}  // namespace

std::string first_of(const Texts& texts) {
  constexpr std::size_t kMost = 5;
  const std::size_t count = texts.size();
  const Texts some(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min(count, kMost)));
  return joined(some, ", ") + (count > kMost ? " and " + std::to_string(count - kMost) + " more" : "");
}

std::string place_of(const FoundPlugin& found) {
  if (!found.place.empty()) return found.place;
  return found.starter.empty() ? found.file : found.starter;
}

std::string starter_of(const FoundPlugin& found) { return found.starter.empty() ? "--args" : found.starter; }

void explain(const FoundPlugin& found, const std::vector<Arguments::Fate>& fates, const Reading& reading,
             ConfigDraft& draft) {
  Explaining explaining(reading, draft);
  draft.explanations = found.line.values;
  for (const auto& [name, value, became] : fates) {
    const bool is_shown = became && became != kNoMeaning && !value.empty();  // another value may be a secret
    explaining.add(starter_of(found), name + (is_shown ? '=' + value : ""), became);
  }
  if (found.configuration && is_object(*found.configuration))
    explaining.key(at(*found.configuration, "spec"), "spec", std::nullopt);
  else if (found.configuration)
    explaining.key(*found.configuration, "", std::nullopt);
  for (YamlDraft& entry : draft.resources.items)
    if (entry.origins.empty()) entry.origins = {place_of(found)};
}

void explain_entries(const ConfigDraft& draft, Texts& explanations) {
  const YamlDraft* const domain = draft.top.find("domain");
  for (const YamlDraft& entry : draft.resources.items) {
    const std::string name = entry.find("name")->scalar.text();
    const bool is_whole = !domain || name.find('/') != std::string::npos;
    std::string line = ((is_whole ? "" : domain->scalar.text() + '/') + name + ": from " +
                        first_of(entry.origins) + (entry.disabled ? "; as a comment only" : ""));
    if (explanations.empty() || explanations.back() != line) explanations.push_back(std::move(line));
  }
}

}  // namespace plughost
