#include "base/document/node.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Node text(const char* words, int line = 1) {
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

TEST_CASE("a mark reads as editors take it") {
  CHECK(Mark{.file = "a.yaml", .line = 3, .column = 7}.text() == "a.yaml:3:7");
  CHECK(Mark{.file = "a.yaml"}.text() == "a.yaml");
}

TEST_CASE("a map's value is found by its key") {
  const Node node = mapping({{text("a"), text("1")}, {text("b"), text("2")}});
  REQUIRE(node.find("b"));
  CHECK(node.find("b")->scalar == "2");
  CHECK_FALSE(node.find("c"));
  CHECK_FALSE(text("a").find("a"));
}

TEST_CASE("marks, quotes and the order of keys do not change what a node says") {
  Node quoted = text("1", 9);
  quoted.quoted = true;
  const Node one = mapping({{text("a"), text("1")}, {text("b"), sequence({text("x"), text("y")})}});
  const Node other = mapping({{text("b", 4), sequence({text("x"), text("y")})}, {text("a", 5), quoted}});
  CHECK(same_content(one, other));
}

TEST_CASE("values, the order of a list, missing keys and kinds change what a node says") {
  const Node one = mapping({{text("a"), text("1")}});
  CHECK_FALSE(same_content(one, mapping({{text("a"), text("2")}})));
  CHECK_FALSE(same_content(one, mapping({{text("b"), text("1")}})));
  CHECK_FALSE(same_content(one, mapping({{text("a"), text("1")}, {text("b"), text("1")}})));
  CHECK_FALSE(same_content(one, mapping({})));
  CHECK_FALSE(same_content(sequence({text("x"), text("y")}), sequence({text("y"), text("x")})));
  CHECK_FALSE(same_content(sequence({}), mapping({})));
  CHECK_FALSE(same_content(Node{}, text("")));
  CHECK_FALSE(same_content(sequence({text("a"), text("1:b")}), sequence({text("a1"), text("b")})));
}

}  // namespace
}  // namespace plughost
