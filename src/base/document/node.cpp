#include "base/document/node.hpp"

#include <algorithm>
#include <map>

#include "base/text/words.hpp"

namespace plughost {
namespace {

// Appends the length first, which makes the end of the text unambiguous.
void append_scalar(std::string_view scalar, std::string& text) {
  text += std::to_string(scalar.size()) += ':';
  text += scalar;
}

void append_content(const Node& node, std::string_view except, std::string& text) {
  switch (node.kind) {
    case Node::Kind::kNull:
      text += '~';
      return;
    case Node::Kind::kScalar:
      return append_scalar(node.scalar, text);
    case Node::Kind::kSequence:
      text += '[';
      for (const Node& item : node.items) append_content(item, {}, text);
      text += ']';
      return;
    case Node::Kind::kMap:
      std::map<std::string_view, const Node*> sorted;
      for (const auto& [key, value] : node.members) {
        if (except.empty() || key.scalar != except) sorted.emplace(key.scalar, &value);
      }
      text += '{';
      for (const auto& [key, value] : sorted) {
        append_scalar(key, text);
        append_content(*value, {}, text);
      }
      text += '}';
      return;
  }
}

}  // namespace

std::string Mark::text() const {
  if (line == 0) return file.text();
  return file.text() + ':' + std::to_string(line) + ':' + std::to_string(column);
}

const Node* Node::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(members, [&](const Member& member) { return member.first.scalar == key; });
  return found == members.end() ? nullptr : &found->second;
}

std::string Node::kind_name() const {
  static constexpr Word<Kind> kNames[] = {
      {"nothing", Kind::kNull}, {"text", Kind::kScalar}, {"a list", Kind::kSequence}, {"a map", Kind::kMap}};
  return std::string(word_of(kNames, kind));
}

const Node& or_nothing(const Node* node) {
  static const Node kNothing;
  return node ? *node : kNothing;
}

const Node& at(const Node& map, std::string_view key) { return or_nothing(map.find(key)); }

const std::string& text_at(const Node& map, std::string_view key) { return at(map, key).scalar; }

std::string content_of(const Node& node, std::string_view except) {
  std::string text;
  append_content(node, except, text);
  return text;
}

}  // namespace plughost
