#pragma once
// YAML that is written: values with comments. Plain values.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace plughost {

struct YamlDraft {
  struct Member;
  enum class Kind { kScalar, kList, kMap };

  static YamlDraft text(std::string_view text);
  static YamlDraft flag();  // true
  static YamlDraft number(unsigned number);
  static YamlDraft list();
  static YamlDraft texts(const std::vector<std::string>& texts);  // [a, b]
  static YamlDraft map();

  void add(YamlDraft item);                    // kList
  void add(std::string key, YamlDraft value);  // kMap
  // The value of a map's key; nullptr: it has none.
  YamlDraft* find(std::string_view key);
  const YamlDraft* find(std::string_view key) const;
  bool empty() const { return items.empty() && members.empty(); }

  Kind kind = Kind::kScalar;
  Json scalar;  // a text, a number or a flag
  std::vector<YamlDraft> items;
  std::vector<Member> members;
  std::vector<std::string> notes;  // comments before it, one sentence or more each
  bool flow = false;               // in one line, with brackets or braces; what is in it has no notes
  bool disabled = false;           // of an item: written as a comment, to be looked at by somebody
};

struct YamlDraft::Member {
  std::string key;
  YamlDraft value;
};

// Lines of a comment, wrapped. No text can end the comment.
std::string comment(std::string_view text);
// The map or list in block style, with a final newline.
std::string to_text(const YamlDraft& draft);

}  // namespace plughost
