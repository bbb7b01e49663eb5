// The devices of generic-device-plugin and of MicroShift.

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/ascii.hpp"
#include "base/text/template.hpp"
#include "base/text/text.hpp"
#include "tools/convert/converters/generic_devices.hpp"

namespace plughost {
namespace {

constexpr const char* kDefaultPermissions = "mrw";

// Removes "//", "." and "..", as the kernel resolves a path without links.
std::string plain_path(std::string_view path) {
  std::string plain = std::filesystem::path(path).lexically_normal();
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

// Escapes '!' at the beginning of a character class: in Go's patterns only '^' negates a class.
std::string pattern_of(const std::string& theirs) {
  std::string pattern = plain_path(theirs);
  for (std::size_t at = 0; (at = pattern.find("[!", at)) != std::string::npos; at += 2)
    pattern.insert(at + 1, 1, '\\');
  return pattern;
}

// Converts a path, with a note if it has changed.
YamlDraft path_value(const std::string& theirs, LenientFields& path, const char* key) {
  if (!theirs.starts_with('/')) {
    path.error(*path.node(key), key, path_error(theirs));
    return theirs;
  }
  YamlDraft value = pattern_of(theirs);
  if (theirs.find("..") != std::string::npos && value.scalar.text() != theirs)
    value.notes.push_back("It was " + quote(theirs) + '.');
  return value;
}

// Adds the settings of a path that depend on its type.
void add_type(LenientFields& path, YamlDraft& draft) {
  const Node* const node = path.node("type");
  const std::string type = path.text("type").value_or("Device");
  const auto permissions = path.text("permissions");
  const bool read_only = path.flag("readOnly").value_or(false);
  if (type == "Mount") {
    draft.add("type", type);
    if (read_only) draft.add("readOnly", true);
    if (permissions && !permissions->empty())
      draft.notes.emplace_back("`permissions` had no effect on a mount; left out.");
    return;
  }
  if (type != "Device" && !type.empty())
    path.error(*node, "type", quote(type) + " is neither Device nor Mount");
  if (permissions && permissions->find_first_not_of("rwm") != std::string::npos)
    path.error(*path.node("permissions"), "permissions", quote(*permissions) + " has others than r, w and m");
  draft.add("permissions", permissions.value_or("").empty() ? kDefaultPermissions : *permissions);
  if (read_only) draft.notes.emplace_back("`readOnly` had no effect on a device node; left out.");
}

// Returns true for directories of device nodes that are often given as a whole.
bool is_known_directory(std::string_view path) {
  static constexpr std::string_view kDirectories[] = {
      "/dev/snd",  "/dev/dri",        "/dev/bus/usb", "/dev/input", "/dev/bus",   "/dev/dvb",
      "/dev/vfio", "/dev/infiniband", "/dev/mapper",  "/dev/v4l",   "/dev/serial"};
  return std::ranges::find(kDirectories, path) != std::end(kDirectories);
}

YamlDraft path_draft(const Node& node, const std::string& where, Reading& diagnostics) {
  // In the first versions, an item was the path itself.
  Node as_map;
  if (node.kind == Node::Kind::kScalar) {
    as_map.kind = Node::Kind::kMap;
    as_map.mark = node.mark;
    Node key = node;
    key.scalar = "path";
    as_map.members.push_back({std::move(key), node});
  }
  LenientFields path(node.kind == Node::Kind::kScalar ? as_map : node, where, diagnostics);
  YamlDraft draft = YamlDraft::map();
  const std::string host_path(without_blanks(path.require_text("path")));
  if (!host_path.empty()) draft.add("path", path_value(host_path, path, "path"));
  if (const std::string mount(without_blanks(path.text("mountPath").value_or(""))); !mount.empty()) {
    if (!mount.starts_with('/')) path.error(*path.node("mountPath"), "mountPath", path_error(mount));
    draft.add("mountPath", Template::escape(mount));
    if (has_wildcards(host_path))
      draft.notes.push_back(
          once("One place in the container for each device that matches: a pod that asks for two of them is "
               "refused, unless the place has `{n}` in it."));
  }
  add_type(path, draft);
  if (const auto limit = path.number("limit"); limit.value_or(1) > 1)
    draft.add("limit", sharing_draft(*limit));
  if (path.flag("optional").value_or(false)) {
    draft.add("optional", true);
    draft.notes.emplace_back(
        "With fewer matches than others have, theirs made as many devices as it has matches; here the others "
        "are devices without it.");
  }
  if (is_known_directory(plain_path(host_path)))
    draft.notes.push_back(
        once("A directory: the container gets the nodes that are in it, and below, when it is admitted; "
             "theirs those at each of its starts."));
  add_notes(draft.notes, path.notes());
  return draft;
}

bool is_empty_path(const Node& item) {
  const Node* const path = item.find("path");
  return item.kind == Node::Kind::kMap && path && path->kind == Node::Kind::kScalar && path->scalar.empty();
}

// Disables `owner` if all items of its `list` are comments, because nothing else is left of it.
void disable_if_nothing_is_left(YamlDraft& owner, YamlDraft& list) {
  if (list.empty() || !std::ranges::all_of(list.items, &YamlDraft::disabled)) return;
  for (YamlDraft& item : list.items) item.disabled = false;
  owner.disabled = true;
}

YamlDraft group_draft(const Node& node, const std::string& path, Reading& diagnostics) {
  LenientFields group(node, path, diagnostics);
  YamlDraft draft = YamlDraft::map();
  if (const auto count = group.number("count"); count.value_or(1) > 1)
    draft.add("count", sharing_draft(*count));
  YamlDraft paths = YamlDraft::list();
  for (std::size_t i = 0; const Node& item : group.items("paths")) {
    const std::string place = group.path_of("paths") + '[' + std::to_string(i++) + ']';
    // MicroShift prints an empty item if the list has no items.
    if (!is_empty_path(item)) paths.add(path_draft(item, place, diagnostics));
  }
  YamlDraft usbs = usbs_of_group(group, draft.notes);
  if (!paths.empty() && !usbs.empty())
    draft.notes.emplace_back(
        "Theirs refuses a group with paths and USB devices; here they are one device together.");
  const bool has_paths = !paths.empty();
  if (has_paths) draft.add("paths", std::move(paths));
  if (!usbs.empty()) {
    if (!has_paths) disable_if_nothing_is_left(draft, usbs);
    draft.add("usb", std::move(usbs));
  }
  add_notes(draft.notes, group.notes());
  return draft;
}

// Returns the paths of each group.
std::vector<std::vector<std::string>> patterns_of(const YamlDraft& groups) {
  std::vector<std::vector<std::string>> all;
  for (const YamlDraft& group : groups.items) {
    std::vector<std::string>& patterns = all.emplace_back();
    const YamlDraft* const paths = group.find("paths");
    for (const YamlDraft& path : paths ? paths->items : std::vector<YamlDraft>()) {
      const YamlDraft* const pattern = path.find("path");
      patterns.push_back(pattern ? pattern->scalar.text() : "");
    }
  }
  return all;
}

bool may_match_the_same(const std::string& one, const std::string& other) {
  return ::fnmatch(one.c_str(), other.c_str(), FNM_PATHNAME) == 0 ||
         ::fnmatch(other.c_str(), one.c_str(), FNM_PATHNAME) == 0;
}

// Reverses the groups if two groups of one path each may match one device: the other plugin uses the last
// group, plughost the first.
void put_last_first(YamlDraft& groups) {
  const auto patterns = patterns_of(groups);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    for (std::size_t j = i + 1; j < patterns.size(); ++j) {
      if (patterns[i].size() != 1 || patterns[j].size() != 1 ||
          !may_match_the_same(patterns[i][0], patterns[j][0]))
        continue;
      std::ranges::reverse(groups.items);
      groups.notes.emplace_back(
          "In reverse order: of a device that two of these match theirs gave what the last one says, and "
          "plughost gives what the first one says.");
      return;
    }
  }
}

// Moves a path that no other group has to the front of its group: plughost derives a device's id from the
// first path, the other plugin from all paths. Two devices with the same id would become one.
void put_own_paths_first(YamlDraft& groups) {
  const auto patterns = patterns_of(groups);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto& own = patterns[i];
    const auto begins_alike = [&](const std::vector<std::string>& other) {
      return !own.empty() && !other.empty() && own != other && own.size() + other.size() > 2 &&
             may_match_the_same(own[0], other[0]);
    };
    if (std::ranges::none_of(patterns, begins_alike)) continue;
    std::vector<YamlDraft>& paths = groups.items[i].find("paths")->items;
    const auto is_own = [&](std::size_t path) {
      const auto has_it = [&](const std::vector<std::string>& other) {
        return &other != &own && std::ranges::any_of(other, [&](const std::string& each) {
          return may_match_the_same(each, own[path]);
        });
      };
      return !paths[path].find("optional") && std::ranges::none_of(patterns, has_it);
    };
    std::size_t first = 0;
    while (first < own.size() && !is_own(first)) ++first;
    if (first == own.size() && own.size() > 1)
      groups.items[i].notes.push_back(
          loss("Ids are made of the first path, and other groups have all that are here: of devices with the "
               "same id plughost offers one."));
    if (first == 0 || first == own.size()) continue;
    const auto begin = paths.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(first),
                begin + static_cast<std::ptrdiff_t>(first) + 1);
    groups.items[i].notes.emplace_back(
        "In another order: ids are made of the first path, and another group has that, too.");
  }
}

YamlDraft group_of(YamlDraft path) { return YamlDraft::map({{"paths", YamlDraft::list({std::move(path)})}}); }

// Adds each item of `paths` as a group: versions before `groups` had `paths` only.
void add_old_paths(LenientFields& device, YamlDraft& groups) {
  for (std::size_t i = 0; const Node& item : device.items("paths")) {
    const std::string place = device.path_of("paths") + '[' + std::to_string(i++) + ']';
    groups.add(group_of(path_draft(item, place, device.diagnostics())));
  }
}

bool has_items(const Node& group) {
  return std::ranges::any_of(group.members,
                             [](const Node::Member& each) { return !each.second.items.empty(); });
}

void add_device(const Node& node, const std::string& path, ConfigDraft& draft, Reading& diagnostics) {
  LenientFields device(node, path, diagnostics);
  // Until 2023, this key was called `type`.
  const char* const key = device.node("name") || !device.node("type") ? "name" : "type";
  const std::string name(without_blanks(device.require_text(key)));
  YamlDraft groups = YamlDraft::list();
  bool has_empty = false;  // some items are empty, which MicroShift prints
  for (std::size_t i = 0; const Node& group : device.items("groups")) {
    const std::string place = device.path_of("groups") + '[' + std::to_string(i++) + ']';
    YamlDraft one = group_draft(group, place, diagnostics);
    if (one.find("paths") || one.find("usb"))
      groups.add(std::move(one));
    else if (!has_items(group))
      diagnostics.error(group.mark, place, "neither `paths` nor `usb` has an item");
    else {
      has_empty = true;
      add_notes(draft.notes, std::move(one.notes));
    }
  }
  add_old_paths(device, groups);
  if (groups.empty() && has_empty)
    return draft.notes.push_back(doubt(quote(name) + " is left out: nothing in it says what it is."));
  if (groups.empty()) diagnostics.error(node.mark, path, "it has no group");
  put_last_first(groups);
  put_own_paths_first(groups);
  YamlDraft entry = YamlDraft::map({{"name", Template::escape(name)}});
  disable_if_nothing_is_left(entry, groups);
  entry.add("groups", std::move(groups));
  entry.origins = {device.origin()};
  entry.notes = device.notes();
  draft.resources.add(std::move(entry));
}

}  // namespace

void add_devices(const std::vector<Node>& devices, const std::string& path, ConfigDraft& draft,
                 Reading& diagnostics) {
  for (std::size_t i = 0; const Node& device : devices)
    add_device(device, path + '[' + std::to_string(i++) + ']', draft, diagnostics);
}

void add_short_device(const std::string& text, ConfigDraft& draft, Reading& diagnostics) {
  YamlDraft groups = YamlDraft::list();
  std::size_t comma = text.find(',');
  const std::string name(without_blanks(text.substr(0, comma)));
  while (comma != std::string::npos) {
    const std::size_t next = text.find(',', comma + 1);
    const std::string theirs(without_blanks(text.substr(comma + 1, next - comma - 1)));
    if (!theirs.starts_with('/')) diagnostics.error({.file = "--device"}, "", path_error(theirs));
    groups.add(
        group_of(YamlDraft::map({{"path", pattern_of(theirs)}, {"permissions", kDefaultPermissions}})));
    comma = next;
  }
  if (name.empty() || groups.empty())
    diagnostics.error({.file = "--device"}, "",
                      quote(text) + " is not a device, which is JSON or YAML with a `name` and `groups`");
  put_last_first(groups);
  draft.resources.add(YamlDraft::map({{"name", Template::escape(name)}, {"groups", std::move(groups)}}));
}

}  // namespace plughost
