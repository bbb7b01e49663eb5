#include "tools/convert/convert.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/template.hpp"
#include "base/text/text.hpp"
#include "config/other_plugin.hpp"
#include "tools/convert/converters/converter.hpp"
#include "tools/convert/explain.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/manifests.hpp"
#include "tools/convert/peers/peers.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// The peers that need more than their table.
struct Converter {
  OtherPlugin plugin;
  Convert* convert;
};

using enum OtherPlugin;
constexpr Converter kConverters[] = {
    {kAkri, convert_akri},
    {kGenericDevicePlugin, convert_generic},
    {kIntelGpu, convert_intel_gpu},
    {kKubeVirt, convert_kubevirt},
    {kMicroShift, convert_microshift},
    {kNvidia, convert_nvidia},
    {kRdmaShared, convert_rdma_shared},
    {kSmarter, convert_smarter},
    {kSriov, convert_sriov},
    {kVolcano, convert_volcano},
};

std::string all_plugins() {
  Texts names;
  for (const Peer& each : peers()) names.emplace_back(name_of(each.plugin));
  return joined(names, ", ");
}

// Reports that no configuration was found.
void refuse(const std::vector<Node>& documents, const Manifests& manifests, Diagnostics& diagnostics) {
  const Mark mark = documents.empty() ? Mark{.file = "--args"} : documents.front().mark;
  const std::vector<Hint>& ways = manifests.advice.empty() ? manifests.hints : manifests.advice;
  for (const Hint& way : ways) diagnostics.error({.file = way.file}, "", way.text);
  if (!ways.empty()) return;
  if (documents.empty()) {
    diagnostics.error(mark, "",
                      "this is not the command line of a plugin that plughost can convert without a file; "
                      "give the file, too, or the "
                      "whole of it with the program: `plughost convert FILE --args \"...\"`");
    return;
  }
  const bool ours = documents.front().find("resources") != nullptr;
  const std::string what =
      manifests.objects.empty()
          ? std::string("there is no device plugin's configuration in this") +
                (ours ? " (plughost's own has `resources`, too: `plughost check` reads it)" : "")
          : "this is " + first_of(manifests.objects) +
                ", and there is no device plugin's configuration in it";
  diagnostics.error(mark, "", what + "; plughost knows those of " + all_plugins());
}

// Adds the losses and doubts among the notes. The notes of one place form one line. `whose` is "a.example/b:
// " or empty.
void tell(const Notes& notes, const std::string& whose, Conversion& conversion) {
  for (auto& [weight, to] : {std::pair{Note::Weight::kLoss, &conversion.losses},
                             std::pair{Note::Weight::kDoubt, &conversion.doubts}}) {
    Texts texts;
    for (const Note& note : notes) {
      if (note.weight == weight) texts.push_back(note.text);
    }
    const std::string line = whose + joined(texts, " ");
    if (!texts.empty() && std::ranges::find(*to, line) == to->end()) to->push_back(line);
  }
  conversion.notes += notes.size();
}

void tell(const YamlDraft& draft, const std::string& whose, Conversion& conversion) {
  tell(draft.notes, whose, conversion);
  for (const YamlDraft& item : draft.items) tell(item, whose, conversion);
  for (const auto& [key, value] : draft.members) tell(value, whose, conversion);
}

void tell(const ConfigDraft& draft, Conversion& conversion) {
  for (const Note& note : draft.notes) tell(Notes{note}, "", conversion);
  tell(draft.top, "", conversion);
  for (const YamlDraft& entry : draft.resources.items) {
    const YamlDraft* const name = entry.find("name");
    tell(entry, name ? name->scalar.text() + ": " : "", conversion);
  }
}

// Keeps the first of equal remarks that are to be made once.
void say_once(YamlDraft& draft, std::set<std::string>& said) {
  std::erase_if(draft.notes, [&](const Note& note) {
    return note.weight == Note::Weight::kOnce && !said.insert(note.text).second;
  });
  for (YamlDraft& item : draft.items) say_once(item, said);
  for (auto& [key, value] : draft.members) say_once(value, said);
}

// `several` means that the input had several files.
std::string text_of(const ConfigDraft& draft, const Conversion& conversion, bool several) {
  std::string text = comment("Written by plughost convert, which took its input for the configuration of " +
                             conversion.from + ".");
  for (const Conversion::Found& found : conversion.found) {
    if (several)
      text += comment(found.file + ": " + (found.what.empty() ? "the configuration." : found.what + '.'));
    else if (!found.what.empty())
      text += comment(found.what + '.');
  }
  for (const Note& note : draft.notes) text += comment(note.text);
  text += '\n';
  if (!draft.top.empty()) text += to_text(draft.top) + '\n';
  const bool kept =
      std::ranges::any_of(draft.resources.items, [](const YamlDraft& entry) { return !entry.disabled; });
  text += kept ? "resources:\n" : "resources: []\n";
  for (std::size_t i = 0; i < draft.resources.items.size(); ++i) {
    text += (i == 0 ? "" : "\n") + to_text(YamlDraft::list({draft.resources.items[i]}));
  }
  return text;
}

// Returns "ConfigMap a/b, key c: the configuration of X, started by DaemonSet d"; empty if the file is the
// configuration and nothing else.
std::string sentence_of(const FoundPlugin& found) {
  const std::string whose(name_of(found.plugin));
  if (!found.configuration)
    return found.starter.empty() ? "" : found.starter + ": the command line of " + whose;
  if (found.place.empty() && found.starter.empty()) return {};
  return (found.place.empty() ? "" : found.place + ": ") + "the configuration of " + whose +
         (found.starter.empty() ? "" : ", started by " + found.starter);
}

void report_found(const Manifests& manifests, Conversion& conversion) {
  std::set<std::string> starters;
  for (const FoundPlugin& found : manifests.plugins) {
    const std::string from(name_of(found.plugin));
    if (conversion.from.find(from) == std::string::npos)
      conversion.from += (conversion.from.empty() ? "" : " and of ") + from;
    conversion.found.push_back({.file = found.file, .what = sentence_of(found)});
    const bool elsewhere = !found.starter_file.empty() && found.starter_file != found.file;
    if (elsewhere && starters.insert(found.starter_file + found.starter).second)
      conversion.found.push_back({.file = found.starter_file, .what = found.starter + " starts " + from});
  }
  for (const auto& [file, place] : manifests.values)
    conversion.found.push_back({.file = file, .what = "values of " + place});
}

// Returns what became of the flags and variables, after errors for those that are placeholders and losses for
// flags that are not known.
std::vector<Arguments::Fate> judged(const FoundPlugin& found, const Arguments& given, Notes& notes,
                                    Diagnostics& diagnostics) {
  const Node& ignored = at(peer_of(found.plugin), "ignored");
  std::vector<Arguments::Fate> fates = given.fates();
  for (auto& [name, value, became] : fates) {
    const bool is_flag = name.starts_with("--");
    const std::string flag = name.substr(is_flag ? 2 : 0);
    if (became && is_placeholder(value))
      diagnostics.error({.file = starter_of(found)}, name, quote(value) + kFilledInLater);
    else if (!became && (!is_flag || is_log_flag(flag) || has_word(ignored, flag)))
      became = kNoMeaning;
    else if (!became)
      notes.push_back(loss("The flag " + quote(name) + " has no counterpart in plughost; left out."));
  }
  return fates;
}

std::optional<ConfigDraft> draft_of(const FoundPlugin& found, const Texts& words, Diagnostics& refused) {
  static const Node kNothing{.kind = Node::Kind::kMap, .mark = {.file = "--args"}};
  Reading reading;
  PluginCommand line = found.line;
  line.words.insert(line.words.end(), words.begin(), words.end());
  Arguments given(line, starter_of(found), reading);
  ConfigDraft draft;
  if (!reading.has_errors()) {
    const Node& root = found.configuration ? *found.configuration : kNothing;
    const auto* const own = std::ranges::find(kConverters, found.plugin, &Converter::plugin);
    own == std::end(kConverters) ? convert_by_table(found.plugin, root, given, draft, reading)
                                 : own->convert(root, given, draft, reading);
    const auto fates = judged(found, given, draft.notes, reading);
    if (!draft.without_remarks) add_remarks(found.plugin, draft.notes);
    explain(found, fates, reading, draft);
  }
  for (const Diagnostic& error : reading.all()) refused.error(error);
  return reading.has_errors() ? std::nullopt : std::optional(std::move(draft));
}

// Writes each name with its domain, before configurations with different domains are merged.
void spell_out_names(ConfigDraft& draft) {
  const YamlDraft* const domain = draft.top.find("domain");
  if (!domain) return;
  for (YamlDraft& entry : draft.resources.items) {
    YamlDraft* const name = entry.find("name");
    if (name && name->scalar.text().find('/') == std::string::npos)
      name->scalar = Template::escape(domain->scalar.text()) + '/' + name->scalar.text();
  }
  add_notes(draft.notes, domain->notes);
  std::erase_if(draft.top.members, [](const YamlDraft::Member& each) { return each.first == "domain"; });
}

// Replaces a guessed domain by the domain that pods in the manifests request, if there is exactly one.
void find_domain(const Manifests& manifests, ConfigDraft& draft) {
  YamlDraft* const domain = draft.top.find("domain");
  if (!domain || !draft.domain_is_a_guess) return;
  std::set<std::string> domains;
  for (const std::string& resource : manifests.requested) {
    const std::size_t slash = resource.find('/');
    if (slash == std::string::npos) continue;
    const std::string name = Template::escape(resource.substr(slash + 1));
    const auto is_it = [&](const YamlDraft& entry) { return entry.find("name")->scalar.text() == name; };
    if (std::ranges::any_of(draft.resources.items, is_it)) domains.insert(resource.substr(0, slash));
  }
  if (domains.size() != 1) return;
  *domain = *domains.begin();
  domain->notes.emplace_back("It is not said; pods here ask for it.");
}

using Drafts = std::vector<std::pair<std::string, ConfigDraft>>;

bool is_of(const YamlDraft& entry, const YamlDraft& name) {
  const YamlDraft* const its = entry.find("name");
  return its && !entry.disabled && its->scalar == name.scalar;
}

// Returns true if a later entry has the name and replaces this one.
bool comes_again(const Drafts& drafts, std::size_t configuration, std::size_t n, const YamlDraft& name) {
  const auto is_it = [&](const YamlDraft& entry) { return is_of(entry, name); };
  const ConfigDraft& own = drafts[configuration].second;
  const auto after = own.resources.items.begin() + static_cast<std::ptrdiff_t>(n) + 1;
  if (!own.names_join && std::any_of(after, own.resources.items.end(), is_it)) return true;
  return std::any_of(drafts.begin() + static_cast<std::ptrdiff_t>(configuration) + 1, drafts.end(),
                     [&](const auto& later) {
                       return !(own.joins_others && later.second.joins_others) &&
                              std::ranges::any_of(later.second.resources.items, is_it);
                     });
}

// Keeps the last entry of each name. Two configurations belong to different nodes, or to two plugins on one
// node; in the latter case the kubelet keeps the last registration.
void keep_last_of_each_name(Drafts& drafts) {
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::vector<YamlDraft>& entries = drafts[i].second.resources.items;
    for (std::size_t n = 0; n < entries.size(); ++n) {
      YamlDraft& entry = entries[n];
      const YamlDraft* const name = entry.find("name");
      if (entry.disabled || !name || entry.find("when") || !comes_again(drafts, i, n, *name)) continue;
      // NVIDIA's plugin selects a configuration by this label.
      const std::string label = name->scalar.text().starts_with("nvidia.com/")
                                    ? "nvidia.com/device-plugin.config"
                                    : "example.com/pool";
      entry.disabled = true;
      entry.notes.push_back(
          loss("An entry below has the name " + name->scalar.text() +
               ", too, and with theirs the last one counts. Without the `#` both are one resource here; for "
               "nodes of their own give both a `when`, as in `when: {label: {" +
               label + ": a}}`."));
    }
  }
}

// Merges the configurations. Notes on a configuration precede its entries.
ConfigDraft merged(Drafts& drafts) {
  ConfigDraft all;
  std::set<std::string> told;
  for (auto& [place, draft] : drafts) {
    for (auto& [key, value] : draft.top.members) {
      const YamlDraft* const other = all.top.find(key);
      if (!other)
        all.top.add(key, std::move(value));
      else if (to_text(*other) != to_text(value))
        draft.notes.push_back(loss("Its `" + key + "` is another one, and left out."));
    }
    Notes notes = {"From " + place + ':'};
    for (Note& note : draft.notes) {
      if (told.insert(note.text).second) notes.push_back(std::move(note));
    }
    if (draft.resources.items.empty()) {
      add_notes(all.notes, std::move(notes));
      continue;
    }
    Notes& first = draft.resources.items.front().notes;
    first.insert(first.begin(), notes.begin(), notes.end());
    for (YamlDraft& entry : draft.resources.items) all.resources.add(std::move(entry));
  }
  return all;
}

// Sets `near` in both entries, because the kubelet may allocate either first.
void set_near(const NearPair& pair, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const auto& [name, other] : {std::pair{pair.one, pair.other}, std::pair{pair.other, pair.one}}) {
    bool is_there = false;
    for (YamlDraft& entry : draft.resources.items) {
      if (entry.disabled || entry.find("name")->scalar.text() != Template::escape(name)) continue;
      is_there = true;
      if (!entry.find("near")) entry.add("near", other);
    }
    if (!is_there)
      diagnostics.error({.file = "--near"}, "", "there is no resource " + quote(name) + " in it");
  }
}

}  // namespace

std::optional<Conversion> convert(const std::vector<Node>& documents, std::string_view arguments,
                                  Diagnostics& diagnostics, const std::vector<NearPair>& near) {
  if (diagnostics.has_errors()) return std::nullopt;
  const Texts words = words_of(arguments, "--args", diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  Diagnostics refused;  // errors of single configurations, which do not concern the others
  Manifests manifests = find_configurations(documents, refused);
  if (documents.empty()) {
    if (const auto plugin = running_plugin({.words = words}))
      manifests.plugins.push_back({.plugin = *plugin});
  }
  if (manifests.plugins.empty() && !refused.has_errors()) refuse(documents, manifests, diagnostics);
  Conversion conversion;
  Drafts drafts;
  for (const FoundPlugin& found : manifests.plugins) {
    if (auto draft = draft_of(found, words, refused)) {
      set_nodes(found, *draft);
      find_domain(manifests, *draft);
      drafts.emplace_back(place_of(found), *std::move(draft));
    }
  }
  if (drafts.empty()) {
    for (const Diagnostic& each : refused.all()) diagnostics.error(each);
    return std::nullopt;
  }
  if (drafts.size() > 1) {
    for (auto& [place, its] : drafts) spell_out_names(its);
  }
  report_found(manifests, conversion);
  keep_last_of_each_name(drafts);
  for (const auto& [place, its] : drafts) explain_entries(its, conversion.explanations);
  for (const auto& [place, its] : drafts)
    conversion.explanations.insert(conversion.explanations.end(), its.explanations.begin(),
                                   its.explanations.end());
  ConfigDraft draft = drafts.size() == 1 ? std::move(drafts.front().second) : merged(drafts);
  for (const NearPair& pair : near) set_near(pair, draft, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  for (std::string& each : manifests.doubts) draft.notes.push_back(doubt(std::move(each) + '.'));
  for (Hint& advice : manifests.advice) draft.notes.push_back(loss(std::move(advice.text) + '.'));
  for (const Diagnostic& each : refused.all()) draft.notes.push_back(loss(each.text() + "; left out."));
  std::set<std::string> said;
  say_once(draft.resources, said);
  const auto is_of_first = [&](const Node& root) {
    return root.mark.file.text() == documents.front().mark.file.text();
  };
  const bool several = !std::ranges::all_of(documents, is_of_first);
  conversion.text = text_of(draft, conversion, several);
  for (const YamlDraft& entry : draft.resources.items)
    ++(entry.disabled ? conversion.left_out : conversion.entries);
  tell(draft, conversion);
  return conversion;
}

}  // namespace plughost
