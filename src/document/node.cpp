#include "document/node.hpp"

#include <algorithm>

namespace plughost {
namespace {

using Member = std::pair<Node, Node>;

std::vector<const Member*> sorted_members(const Node& map) {
  std::vector<const Member*> members;
  members.reserve(map.members.size());
  for (const Member& member : map.members) members.push_back(&member);
  std::ranges::stable_sort(members, {}, [](const Member* member) { return member->first.scalar; });
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

bool same_content(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.scalar != b.scalar) return false;
  if (!std::ranges::equal(a.items, b.items, same_content)) return false;
  return std::ranges::equal(sorted_members(a), sorted_members(b), [](const Member* one, const Member* other) {
    return one->first.scalar == other->first.scalar && same_content(one->second, other->second);
  });
}

}  // namespace plughost
