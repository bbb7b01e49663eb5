#include "document/as_json.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Node scalar(std::string text) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = std::move(text);
  return node;
}

TEST_CASE(
    "a node's maps, lists and texts are JSON's, a number is the text that was written, and nothing is null") {
  Node list;
  list.kind = Node::Kind::kSequence;
  list.items = {scalar("007"), scalar("false"), Node{}};
  Node map;
  map.kind = Node::Kind::kMap;
  map.members = {{.first = scalar("b"), .second = list}, {.first = scalar("a"), .second = scalar("text")}};
  CHECK(as_json(map).dump() == R"({"b":["007","false",null],"a":"text"})");
  CHECK(as_json(Node{}).is_null());
  Node empty;
  empty.kind = Node::Kind::kMap;
  CHECK(as_json(empty).dump() == "{}");
}

}  // namespace
}  // namespace plughost
