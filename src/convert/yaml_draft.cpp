#include "convert/yaml_draft.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace plughost {
namespace {

constexpr std::size_t kWidth = 100;

// Text that every reader of YAML takes for this text. What begins with a digit could be a number.
bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes", "no", "on",
                                                              "off",  "null",  "y",   "n",  "nan"};
  const auto safe = [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '*';
  };
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/')) return false;
  if (!std::ranges::all_of(text, safe)) return false;
  return std::ranges::find(kWords, to_lower(text)) == kWords.end();
}

// YAML 1.2 §5.1 has no place for some characters, not even in a comment; nor has libyaml for a byte order
// mark within a text.
bool is_printable(char32_t code) {
  const bool control = code < ' ' || (code >= 0x7F && code < 0xA0);
  return !control && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

// Those that are not printable as "\u" and four digits, which in double quotes are what they were.
std::string with_escapes(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = std::max<std::size_t>(character.length, 1);
    if (is_printable(character.code)) {
      all += text.substr(0, length);
    } else {
      all += "\\u" + upper_hex(static_cast<char>(character.code >> 8u)) +
             upper_hex(static_cast<char>(character.code & 0xFFu));
    }
    text.remove_prefix(length);
  }
  return all;
}

std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return with_escapes(all) + '"';
}

std::string scalar_text(std::string_view text) {
  return is_plain(text) ? std::string(text) : quoted(text);
}

std::string flow_text(const YamlDraft& draft) {
  switch (draft.kind) {
    case YamlDraft::Kind::kText:
      return scalar_text(draft.scalar);
    case YamlDraft::Kind::kWord:
      return draft.scalar;
    case YamlDraft::Kind::kList: {
      std::string all;
      for (const YamlDraft& item : draft.items) all += (all.empty() ? "" : ", ") + flow_text(item);
      return '[' + all + ']';
    }
    case YamlDraft::Kind::kMap: {
      std::string all;
      for (const YamlDraft::Member& member : draft.members)
        all += (all.empty() ? "" : ", ") + scalar_text(member.key) + ": " + flow_text(member.value);
      return '{' + all + '}';
    }
  }
  return {};
}

bool in_one_line(const YamlDraft& draft) {
  const bool scalar = draft.kind == YamlDraft::Kind::kText || draft.kind == YamlDraft::Kind::kWord;
  return scalar || draft.flow || draft.empty();
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
  const Lines value = in_one_line(item) ? Lines{flow_text(item)} : lines_of(item);
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
      lines.push_back(scalar_text(key) + ": " + flow_text(value));
      continue;
    }
    lines.push_back(scalar_text(key) + ':');
    const std::string indent = value.kind == YamlDraft::Kind::kMap ? "  " : "";
    for (const std::string& line : lines_of(value)) lines.push_back(indent + line);
  }
  return lines;
}

}  // namespace

YamlDraft YamlDraft::text(std::string_view text) {
  return {.kind = Kind::kText, .scalar = std::string(text)};
}

YamlDraft YamlDraft::word(std::string_view word) {
  return {.kind = Kind::kWord, .scalar = std::string(word)};
}

YamlDraft YamlDraft::number(unsigned number) {
  return word(std::to_string(number));
}

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

void YamlDraft::add(YamlDraft item) {
  items.push_back(std::move(item));
}

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
    line += ' ' + with_escapes(word);
  }
  return all + line + '\n';
}

std::string to_text(const YamlDraft& draft) {
  std::string all;
  for (const std::string& line : lines_of(draft)) all += line + '\n';
  return all;
}

}  // namespace plughost
