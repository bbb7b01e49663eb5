// smarter-device-manager: a list of `{devicematch, nummaxdevices}`.

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"
#include "tools/convert/converters/globs.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDomain = "smarter-devices";
constexpr std::string_view kTegra = "nvidia-gpu";

// Returns the groups of the entry of that name; creates the entry if necessary.
YamlDraft& groups_of(const std::string& name, const std::string& origin, YamlDraft& entries) {
  const auto has_name = [&](const YamlDraft& entry) { return entry.find("name")->scalar.text() == name; };
  const auto found = std::ranges::find_if(entries.items, has_name);
  YamlDraft& entry = found != entries.items.end()
                         ? *found
                         : entries.add(YamlDraft::map({{"name", name}, {"groups", YamlDraft::list()}}));
  if (entry.origins.empty() || entry.origins.back() != origin) entry.origins.push_back(origin);
  return *entry.find("groups");
}

// In /dev/…/by-id, `{name}` is only the link's name; the other plugin's names include the directories.
bool in_link_directory(const std::string& pattern) {
  return fs::path(pattern).parent_path().filename().string().starts_with("by-");
}

std::string name_for(const std::string& pattern) {
  const fs::path parent = fs::path(pattern).parent_path();
  if (!in_link_directory(pattern) || has_wildcards(parent.native())) return std::string(kDomain) + "/{name}";
  std::string prefix;
  for (const fs::path& part : parent) prefix += part.string() + '_';
  return literal_name(kDomain, prefix) + "{name}";
}

YamlDraft group_of(const std::string& path, unsigned count) {
  YamlDraft group = YamlDraft::flow_map();
  if (count != 1) group.add("count", sharing_draft(count));
  group.add("paths", YamlDraft::list({YamlDraft::map({{"path", path}})}));
  return group;
}

Notes notes_of(const std::string& regex, const Globs& globs, unsigned count) {
  Notes notes = {"devicematch: " + quote(regex)};
  if (globs.bounded || globs.cut)
    notes.emplace_back(
        "A repetition without end is written out up to " + std::to_string(kMostRepeats) + " times.",
        globs.cut ? Note::Weight::kDoubt : Note::Weight::kRemark);
  if (!globs.exact)
    notes.push_back(
        doubt("Theirs takes matches in deeper directories, and directories, too; these patterns "
              "take nodes in up to " +
              std::to_string(kMostDirectories) + " directories below /dev."));
  const bool nameless = std::ranges::any_of(globs.patterns, [](const std::string& pattern) {
    return in_link_directory(pattern) && has_wildcards(fs::path(pattern).parent_path().native());
  });
  if (nameless)
    notes.push_back(
        doubt("Of links in /dev/…/by-id and its like the directories' names are not in the "
              "resources' names."));
  if (count > kMostSharing)
    notes.push_back(loss("nummaxdevices was " + std::to_string(count) + "; plughost has at most " +
                         std::to_string(kMostSharing) + '.'));
  return notes;
}

void convert_row(const Node& node, const std::string& path, ConfigDraft& draft, Reading& diagnostics) {
  LenientFields row(node, path, diagnostics);
  const auto regex = row.text("devicematch");
  const unsigned count = row.number("nummaxdevices").value_or(0);
  for (Note& note : row.notes()) draft.notes.emplace_back(path + ": " + note.text, note.weight);
  if (!regex || regex->empty())
    return diagnostics.error(node.mark, path, "the key 'devicematch' is missing or empty");
  const std::string cannot = path + " (devicematch " + quote(*regex) + ") is left out: ";
  if (*regex == kTegra)
    return draft.notes.push_back(loss(cannot + "GPUs of a Tegra have no device node of their own."));
  if (count == 0)
    return draft.notes.push_back(doubt(cannot + "without `nummaxdevices` theirs offers none of it."));
  auto globs = globs_of(*regex);
  if (globs)
    std::erase_if(globs->patterns, [](const std::string& each) {
      return each.empty() || !path_error("/dev/" + each).empty();
    });
  if (!globs || globs->patterns.empty())
    return draft.notes.push_back(loss(
        cannot +
        "this regular expression cannot be written with *, ? and [...]; add groups with paths for what it "
        "means."));
  bool first = true;
  for (const std::string& pattern : globs->patterns) {
    YamlDraft group = group_of("/dev/" + pattern, count);
    if (std::exchange(first, false)) group.notes = notes_of(*regex, *globs, count);
    groups_of(name_for(pattern), row.origin(), draft.resources).add(std::move(group));
  }
}

}  // namespace

void convert_smarter(const Node& root, Arguments&, ConfigDraft& draft, Reading& diagnostics) {
  for (std::size_t i = 0; i < root.items.size(); ++i)
    convert_row(root.items[i], '[' + std::to_string(i) + ']', draft, diagnostics);
}

}  // namespace plughost
