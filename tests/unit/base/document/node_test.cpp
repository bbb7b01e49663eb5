#include "base/document/node.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Node scalar(const char* words, int line = 1) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = words;
  node.mark = {.file = "a.yaml", .line = line, .column = 1};
  return node;
}

Node mapping(std::vector<Node::Member> members) {
  Node node;
  node.kind = Node::Kind::kMap;
  node.members = std::move(members);
  return node;
}

Node sequence(std::vector<Node> items) {
  Node node;
  node.kind = Node::Kind::kSequence;
  node.items = std::move(items);
  return node;
}

bool same_content(const Node& one, const Node& other) { return content_of(one) == content_of(other); }

TEST_CASE("a mark's text has the form FILE:LINE:COLUMN, which editors can open") {
  CHECK(Mark{.file = "a.yaml", .line = 3, .column = 7}.text() == "a.yaml:3:7");
  CHECK(Mark{.file = "a.yaml"}.text() == "a.yaml");
}

TEST_CASE("a map's value is found by its key") {
  const Node node = mapping({{scalar("a"), scalar("1")}, {scalar("b"), scalar("2")}});
  REQUIRE(node.find("b"));
  CHECK(node.find("b")->scalar == "2");
  CHECK_FALSE(node.find("c"));
  CHECK_FALSE(scalar("a").find("a"));
}

TEST_CASE("marks, quotes and the order of keys do not change a node's content") {
  Node quoted = scalar("1", 9);
  quoted.quoted = true;
  const Node one = mapping({{scalar("a"), scalar("1")}, {scalar("b"), sequence({scalar("x"), scalar("y")})}});
  const Node other =
      mapping({{scalar("b", 4), sequence({scalar("x"), scalar("y")})}, {scalar("a", 5), quoted}});
  CHECK(same_content(one, other));
}

TEST_CASE("values, the order of a list, missing keys and kinds change a node's content") {
  const Node one = mapping({{scalar("a"), scalar("1")}});
  CHECK_FALSE(same_content(one, mapping({{scalar("a"), scalar("2")}})));
  CHECK_FALSE(same_content(one, mapping({{scalar("b"), scalar("1")}})));
  CHECK_FALSE(same_content(one, mapping({{scalar("a"), scalar("1")}, {scalar("b"), scalar("1")}})));
  CHECK_FALSE(same_content(one, mapping({})));
  CHECK_FALSE(same_content(sequence({scalar("x"), scalar("y")}), sequence({scalar("y"), scalar("x")})));
  CHECK_FALSE(same_content(sequence({}), mapping({})));
  CHECK_FALSE(same_content(Node{}, scalar("")));
  CHECK_FALSE(same_content(sequence({scalar("a"), scalar("1:b")}), sequence({scalar("a1"), scalar("b")})));
}

}  // namespace
}  // namespace plughost
