#include "convert/convert.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "convert/converter.hpp"
#include "device/template.hpp"
#include "document/hex_id.hpp"

namespace plughost {
namespace {

const std::array<Converter, 6>& converters() {
  static const std::array<Converter, 6> rows = {
      generic_device_plugin_converter(), microshift_converter(), nvidia_converter(),
      rdma_shared_converter(),           smarter_converter(),    sriov_converter()};
  return rows;
}

std::string all_that_was_looked_for() {
  std::string list;
  for (const Converter& converter : converters())
    list += (list.empty() ? "" : "; ") + std::string(converter.looked_for) + " (" +
            std::string(name_of(converter.plugin)) + ')';
  return list;
}

const Converter* converter_for(const Node* root, const Arguments& arguments) {
  const auto found = std::ranges::find_if(converters(), [&](const Converter& converter) {
    if (root) return other_plugin(*root) == converter.plugin;
    return std::ranges::any_of(converter.flags, [&](std::string_view flag) { return arguments.has(flag); });
  });
  return found == converters().end() ? nullptr : &*found;
}

void refuse(const Node* root, Diagnostics& diagnostics) {
  const Mark mark = root ? root->mark : Mark{.file = "--args"};
  const Node* const kind = root ? root->find("kind") : nullptr;
  if (kind && kind->scalar == "ConfigMap") {
    diagnostics.error(kind->mark, "", "this is a ConfigMap; convert the file that stands below its `data`");
    return;
  }
  const bool ours = root && root->find("resources");
  diagnostics.error(
      mark, "",
      std::string("this is no plugin's configuration that plughost knows") +
          (ours ? " (plughost's own has `resources`, too, and `plughost check` reads it)" : "") +
          "; looked for " + all_that_was_looked_for());
}

std::size_t notes_of(const YamlDraft& draft) {
  std::size_t count = draft.notes.size();
  for (const YamlDraft& item : draft.items) count += notes_of(item);
  for (const YamlDraft::Member& member : draft.members) count += notes_of(member.value);
  return count;
}

std::string text_of(const ConfigDraft& draft, std::string_view from) {
  std::string text = comment("Written by plughost convert, which took its input for the configuration of " +
                             std::string(from) + ".");
  for (const std::string& note : draft.notes) text += comment(note);
  text += '\n';
  if (!draft.top.empty()) text += to_text(draft.top) + '\n';
  const bool kept =
      std::ranges::any_of(draft.resources.items, [](const YamlDraft& entry) { return !entry.disabled; });
  text += kept ? "resources:\n" : "resources: []\n";
  for (std::size_t i = 0; i < draft.resources.items.size(); ++i) {
    YamlDraft one = YamlDraft::list();
    one.add(draft.resources.items[i]);
    text += (i == 0 ? "" : "\n") + to_text(one);
  }
  return text;
}

}  // namespace

std::optional<Conversion> convert(const Node* root, std::string_view arguments, Diagnostics& diagnostics) {
  static const Node kNothing = [] {
    Node node;
    node.kind = Node::Kind::kMap;
    node.mark.file = "--args";
    return node;
  }();
  const std::size_t errors = diagnostics.error_count();
  Arguments given(arguments, diagnostics);
  if (diagnostics.error_count() > errors) return std::nullopt;
  const Converter* const converter = converter_for(root, given);
  if (!converter) {
    refuse(root, diagnostics);
    return std::nullopt;
  }
  ConfigDraft draft;
  converter->convert(root ? *root : kNothing, given, draft, diagnostics);
  for (const std::string& flag : given.unused())
    draft.notes.push_back("The flag " + quote("--" + flag) + " has no counterpart in plughost; left out.");
  if (diagnostics.error_count() > errors) return std::nullopt;
  Conversion conversion;
  conversion.from = name_of(converter->plugin);
  conversion.text = text_of(draft, conversion.from);
  for (const YamlDraft& entry : draft.resources.items) conversion.entries += entry.disabled ? 0 : 1;
  conversion.notes = draft.notes.size() + notes_of(draft.top) + notes_of(draft.resources);
  return conversion;
}

YamlDraft sharing_draft(unsigned theirs) {
  YamlDraft draft = YamlDraft::number(std::min(theirs, kMostSharing));
  if (theirs > kMostSharing)
    draft.notes.push_back("It was " + std::to_string(theirs) + "; plughost has at most " +
                          std::to_string(kMostSharing) + '.');
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
                                      const std::string& path, Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const std::string& text : texts) {
    ids.push_back(hardware_id(text));
    if (ids.back().empty())
      diagnostics.error(at.mark, path,
                        quote(text) + " is no id of hardware; it has four hexadecimal digits, as in 15b3");
  }
  return ids;
}

void add_notes(std::vector<std::string>& to, std::vector<std::string> notes) {
  for (std::string& note : notes) to.push_back(std::move(note));
}

}  // namespace plughost
