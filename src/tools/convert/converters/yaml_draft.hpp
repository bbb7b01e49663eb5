#pragma once
// YAML under construction: values with comments. Plain values.

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.hpp"

namespace plughost {

struct Note {
  // kRemark: for readers of the file. kOnce: a remark that is left out where it is repeated. kDoubt:
  // the text may differ from the other plugin. kLoss: the other plugin gives something to pods that the text
  // does not.
  enum class Weight { kRemark, kOnce, kDoubt, kLoss };

  Note(std::string words, Weight of = Weight::kRemark) : text(std::move(words)), weight(of) {}
  Note(const char* words) : text(words) {}
  bool operator==(const Note&) const = default;

  std::string text;  // one or more sentences
  Weight weight = Weight::kRemark;
};
inline Note once(std::string text) { return {std::move(text), Note::Weight::kOnce}; }
inline Note doubt(std::string text) { return {std::move(text), Note::Weight::kDoubt}; }
inline Note loss(std::string text) { return {std::move(text), Note::Weight::kLoss}; }
using Notes = std::vector<Note>;

struct YamlDraft {
  using Member = std::pair<std::string, YamlDraft>;
  enum class Kind { kScalar, kList, kMap };

  template <typename Scalar>
  requires std::constructible_from<Json, Scalar> YamlDraft(Scalar value) : scalar(std::move(value)) {}
  // A list in one line: [a, b].
  YamlDraft(const std::vector<std::string>& texts);
  static YamlDraft list(std::initializer_list<YamlDraft> items = {});
  static YamlDraft map(std::initializer_list<Member> members = {});
  // A map in one line: {a: b}.
  static YamlDraft flow_map(std::initializer_list<Member> members = {});

  YamlDraft& add(YamlDraft item) { return items.emplace_back(std::move(item)); }  // kList
  YamlDraft& add(std::string key, YamlDraft value);                               // kMap
  // Returns the value of a map's key; nullptr: none.
  const YamlDraft* find(std::string_view key) const;
  YamlDraft* find(std::string_view key) { return const_cast<YamlDraft*>(std::as_const(*this).find(key)); }
  bool empty() const { return items.empty() && members.empty(); }

  Kind kind = Kind::kScalar;
  Json scalar;
  std::vector<YamlDraft> items;
  std::vector<Member> members;
  Notes notes;        // comments before the value
  bool flow = false;  // in one line, with brackets or braces; its items have no notes
  // For an entry: the maps that it was made of, as "a.yaml:3:3: devices[0]"; none: the whole configuration.
  std::vector<std::string> origins = {};
  bool disabled = false;  // for an item: written as a comment that the user should read

 private:
  explicit YamlDraft(Kind what) : kind(what) {}
};

// Returns the text as wrapped comment lines. A line break in the text does not end the comment.
std::string comment(std::string_view text);
// Returns the map or list in block style, with a final newline.
std::string to_text(const YamlDraft& draft);

}  // namespace plughost
