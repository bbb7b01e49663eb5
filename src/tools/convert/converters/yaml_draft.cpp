#include "tools/convert/converters/yaml_draft.hpp"

#include <algorithm>

#include "base/document/yaml.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kWidth = 100;

Json json_of(const YamlDraft& draft) {
  switch (draft.kind) {
    case YamlDraft::Kind::kScalar:
      return draft.scalar;
    case YamlDraft::Kind::kList: {
      Json::Array items;
      for (const YamlDraft& item : draft.items) items.push_back(json_of(item));
      return items;
    }
    case YamlDraft::Kind::kMap: {
      Json::Object members;
      for (const auto& [key, value] : draft.members) members.emplace_back(key, json_of(value));
      return members;
    }
  }
  return {};
}

bool in_one_line(const YamlDraft& draft) {
  return draft.kind == YamlDraft::Kind::kScalar || draft.flow || draft.empty();
}

using Lines = std::vector<std::string>;

std::string text_of(const Lines& lines) { return joined(lines, "\n") + '\n'; }

Lines comment_lines(std::string_view text) {
  Lines lines = {"#"};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t length = lines.back().size();
    if (length > 1 && length + 1 + word.size() > kWidth) lines.emplace_back("#");
    lines.back() += ' ';
    lines.back() += printable(word);
  }
  return lines;
}

void add_notes(const Notes& notes, Lines& lines) {
  for (const Note& note : notes) std::ranges::move(comment_lines(note.text), std::back_inserter(lines));
}

Lines lines_of(const YamlDraft& draft);

void add_item(const YamlDraft& item, Lines& lines) {
  Lines own;
  add_notes(item.notes, own);
  const Lines value = in_one_line(item) ? Lines{yaml_in_one_line(json_of(item))} : lines_of(item);
  // comments before the first key precede the dash
  bool dash = false;
  for (const std::string& line : value) {
    if (!dash && line.starts_with('#')) {
      own.push_back(line);
    } else {
      own.push_back((dash ? "  " : "- ") + line);
      dash = true;
    }
  }
  for (const std::string& line : own)
    lines.push_back(item.disabled && !line.starts_with('#') ? "# " + line : line);
}

Lines lines_of(const YamlDraft& draft) {
  Lines lines;
  for (const YamlDraft& item : draft.items) add_item(item, lines);
  for (const auto& [key, value] : draft.members) {
    add_notes(value.notes, lines);
    if (in_one_line(value)) {
      lines.push_back(yaml_in_one_line(key) + ": " + yaml_in_one_line(json_of(value)));
      continue;
    }
    lines.push_back(yaml_in_one_line(key) + ':');
    const std::string indent = value.kind == YamlDraft::Kind::kMap ? "  " : "";
    for (const std::string& line : lines_of(value)) lines.push_back(indent + line);
  }
  return lines;
}

}  // namespace

YamlDraft::YamlDraft(const std::vector<std::string>& texts)
    : kind(Kind::kList), items(texts.begin(), texts.end()), flow(true) {}

YamlDraft YamlDraft::list(std::initializer_list<YamlDraft> items) {
  YamlDraft draft(Kind::kList);
  draft.items = items;
  return draft;
}

YamlDraft YamlDraft::map(std::initializer_list<Member> members) {
  YamlDraft draft(Kind::kMap);
  draft.members = members;
  return draft;
}

YamlDraft YamlDraft::flow_map(std::initializer_list<Member> members) {
  YamlDraft draft = map(members);
  draft.flow = true;
  return draft;
}

YamlDraft& YamlDraft::add(std::string key, YamlDraft value) {
  return members.emplace_back(std::move(key), std::move(value)).second;
}

const YamlDraft* YamlDraft::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::first);
  return found == members.end() ? nullptr : &found->second;
}

std::string comment(std::string_view text) { return text_of(comment_lines(text)); }

std::string to_text(const YamlDraft& draft) { return text_of(lines_of(draft)); }

}  // namespace plughost
