#pragma once
// YAML that is written: values with comments. Plain values.

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/json.hpp"

namespace plughost {

// A comment.
struct Note {
  // To whoever reads the file only; or what may be otherwise than it is written; or what theirs gives to pods
  // and the file does not.
  enum class Weight { kRemark, kDoubt, kLoss };

  Note(std::string words, Weight of = Weight::kRemark) : text(std::move(words)), weight(of) {}
  Note(const char* words) : text(words) {}
  bool operator==(const Note&) const = default;

  std::string text;  // one sentence or more
  Weight weight = Weight::kRemark;
};
inline Note doubt(std::string text) { return {std::move(text), Note::Weight::kDoubt}; }
inline Note loss(std::string text) { return {std::move(text), Note::Weight::kLoss}; }
using Notes = std::vector<Note>;

struct YamlDraft {
  using Member = std::pair<std::string, YamlDraft>;
  enum class Kind { kScalar, kList, kMap };

  // A text, a number or a flag.
  template <typename Scalar>
  requires std::constructible_from<Json, Scalar> YamlDraft(Scalar value) : scalar(std::move(value)) {}
  // [a, b]
  YamlDraft(const std::vector<std::string>& texts);
  static YamlDraft list(std::initializer_list<YamlDraft> items = {});
  static YamlDraft map(std::initializer_list<Member> members = {});
  // {a: b}
  static YamlDraft flow_map(std::initializer_list<Member> members = {});

  YamlDraft& add(YamlDraft item) { return items.emplace_back(std::move(item)); }  // kList
  YamlDraft& add(std::string key, YamlDraft value);                               // kMap
  // The value of a map's key; nullptr: it has none.
  const YamlDraft* find(std::string_view key) const;
  YamlDraft* find(std::string_view key) { return const_cast<YamlDraft*>(std::as_const(*this).find(key)); }
  bool empty() const { return items.empty() && members.empty(); }

  Kind kind = Kind::kScalar;
  Json scalar;
  std::vector<YamlDraft> items;
  std::vector<Member> members;
  Notes notes;            // comments before it
  bool flow = false;      // in one line, with brackets or braces; what is in it has no notes
  bool disabled = false;  // of an item: written as a comment, to be looked at by somebody

 private:
  explicit YamlDraft(Kind what) : kind(what) {}
};

// Lines of a comment, wrapped. No text can end the comment.
std::string comment(std::string_view text);
// The map or list in block style, with a final newline.
std::string to_text(const YamlDraft& draft);

}  // namespace plughost
