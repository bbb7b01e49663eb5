#include "document/node.hpp"

#include <algorithm>

namespace plughost {
namespace {

using Member = Node::Member;

std::vector<const Member*> sorted_members(const Node& map) {
  std::vector<const Member*> members;
  members.reserve(map.members.size());
  for (const Member& member : map.members) members.push_back(&member);
  std::ranges::sort(members, {},
                    [](const Member* member) -> const std::string& { return member->first.scalar; });
  return members;
}

void append_content(const Node& node, std::string_view except, std::string& text) {
  switch (node.kind) {
    case Node::Kind::kNull:
      text += '~';
      return;
    case Node::Kind::kScalar:
      // With its length in front, no text can look like the end of it.
      text += std::to_string(node.scalar.size()) += ':';
      text += node.scalar;
      return;
    case Node::Kind::kSequence:
      text += '[';
      for (const Node& item : node.items) append_content(item, {}, text);
      text += ']';
      return;
    case Node::Kind::kMap:
      text += '{';
      for (const Member* member : sorted_members(node)) {
        if (!except.empty() && member->first.scalar == except) continue;
        append_content(member->first, {}, text);
        append_content(member->second, {}, text);
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

const char* Node::kind_name() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "text";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

const Node& or_nothing(const Node* node) {
  static const Node kNothing;
  return node ? *node : kNothing;
}

std::string content_of(const Node& node, std::string_view except) {
  std::string text;
  append_content(node, except, text);
  return text;
}

}  // namespace plughost
