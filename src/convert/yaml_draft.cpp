#include "convert/yaml_draft.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "config/yaml_text.hpp"

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

void add_notes(const std::vector<std::string>& notes, Lines& lines) {
  for (const std::string& note : notes) {
    const std::string all = comment(note);
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      lines.push_back(all.substr(at, end - at));
      at = end + 1;
    }
  }
}

Lines lines_of(const YamlDraft& draft);

void add_item(const YamlDraft& item, Lines& lines) {
  Lines own;
  add_notes(item.notes, own);
  const Lines value = in_one_line(item) ? Lines{yaml_in_one_line(json_of(item))} : lines_of(item);
  // Comments before the first key stand before the dash.
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

YamlDraft YamlDraft::text(std::string_view text) { return {.kind = Kind::kScalar, .scalar = text}; }

YamlDraft YamlDraft::flag() { return {.kind = Kind::kScalar, .scalar = true}; }

YamlDraft YamlDraft::number(unsigned number) { return {.kind = Kind::kScalar, .scalar = number}; }

YamlDraft YamlDraft::list() {
  YamlDraft draft;
  draft.kind = Kind::kList;
  return draft;
}

YamlDraft YamlDraft::texts(const std::vector<std::string>& texts) {
  YamlDraft draft = list();
  draft.flow = true;
  for (const std::string& each : texts) draft.add(text(each));
  return draft;
}

YamlDraft YamlDraft::map() {
  YamlDraft draft;
  draft.kind = Kind::kMap;
  return draft;
}

void YamlDraft::add(YamlDraft item) { items.push_back(std::move(item)); }

void YamlDraft::add(std::string key, YamlDraft value) {
  members.push_back({std::move(key), std::move(value)});
}

YamlDraft* YamlDraft::find(std::string_view key) {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

const YamlDraft* YamlDraft::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

std::string comment(std::string_view text) {
  std::string all;
  std::string line = "#";
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (line.size() > 1 && line.size() + 1 + word.size() > kWidth) {
      all += line + '\n';
      line = "#";
    }
    line += ' ';
    for (const char c : word) line += is_control(c) ? '?' : c;
  }
  return all + line + '\n';
}

std::string to_text(const YamlDraft& draft) {
  std::string all;
  for (const std::string& line : lines_of(draft)) all += line + '\n';
  return all;
}

}  // namespace plughost
