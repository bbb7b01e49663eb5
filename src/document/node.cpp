#include "document/node.hpp"

#include <algorithm>

namespace plughost {
namespace {

using Member = Node::Member;

std::vector<const Member*> sorted_members(const Node& map) {
  std::vector<const Member*> members;
  members.reserve(map.members.size());
  for (const Member& member : map.members) members.push_back(&member);
  std::ranges::stable_sort(members, {},
                           [](const Member* member) -> const std::string& { return member->first.scalar; });
  return members;
}

}  // namespace

std::string Mark::text() const {
  if (line == 0) return file;
  return file + ':' + std::to_string(line) + ':' + std::to_string(column);
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

std::string content_of(const Node& node, std::string_view except) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "~";
    case Node::Kind::kScalar:
      // With its length in front, no text can look like the end of it.
      return std::to_string(node.scalar.size()) + ':' + node.scalar;
    case Node::Kind::kSequence: {
      std::string text = "[";
      for (const Node& item : node.items) text += content_of(item);
      return text + ']';
    }
    case Node::Kind::kMap: {
      std::string text = "{";
      for (const Member* member : sorted_members(node)) {
        if (member->first.scalar != except || except.empty())
          text += content_of(member->first) + content_of(member->second);
      }
      return text + '}';
    }
  }
  return {};
}

}  // namespace plughost
