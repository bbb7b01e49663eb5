#include "base/document/shapes.hpp"

#include <doctest/doctest.h>

#include "base/document/fields.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

constexpr Word<int> kWords[] = {{"one", 1}, {"true", 2}};

// A reader with each getter, with alternatives, and with a key that contains itself.
void read(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  Fields fields(node, path, diagnostics);
  fields.require_text("name");
  if (fields.has("title")) fields.require_text("title");
  fields.flag("on", false);
  fields.number("count", 1, 2, 30);
  fields.duration("wait", 1s, 1s, 90s);
  fields.choice("word", kWords, 1);
  fields.texts("list");
  fields.members("names", "values");
  Fields deep = fields.below("deep");
  Fields deeper = deep.below("er");
  if (deeper.has("this"))
    deeper.flag("left", false);
  else
    deeper.flag("right", false);
  if (const Node* const value = fields.node("either"); value && value->kind == Node::Kind::kMap)
    Fields(*value, fields.path_of("either"), diagnostics).flag("inner", false);
  else
    fields.number("either", 1, 1, 2);
  for (std::size_t i = 0; i < fields.items("parts").size(); ++i) {
    Fields part(fields.items("parts")[i], fields.path_of("parts") + '[' + std::to_string(i) + ']',
                diagnostics);
    part.text("path", "");
  }
  if (const Node* const again = fields.node("again")) read(*again, fields.path_of("again"), diagnostics);
}

Shapes recorded() {
  Shapes shapes;
  Diagnostics diagnostics;
  diagnostics.shapes = &shapes;
  Node root;
  root.kind = Node::Kind::kMap;
  for (unsigned i = 0; i < 64; ++i) {
    shapes.begin(i);
    read(root, "", diagnostics);
  }
  return shapes;
}

}  // namespace

TEST_CASE("shapes: each getter records its key with type, words and range") {
  using Type = Shape::Type;
  const Shapes shapes = recorded();
  const auto types = [&](const char* path) { return shapes.all().at(path).types; };
  CHECK(types("name") == std::set{Type::kText});
  CHECK(shapes.all().at("name").required);
  CHECK_FALSE(shapes.all().at("title").required);
  CHECK(types("on") == std::set{Type::kFlag});
  CHECK(types("count") == std::set{Type::kNumber});
  CHECK(shapes.all().at("count").min == 2);
  CHECK(shapes.all().at("count").max == 30);
  CHECK(shapes.all().at("wait").ranges == std::set<std::string>{"1s to 90s"});
  CHECK(shapes.all().at("word").words == std::set<std::string>{"one", "true"});
  CHECK(types("list") == std::set{Type::kText, Type::kList});
  CHECK(types("names.*") == std::set{Type::kText});
}

TEST_CASE("shapes: both sides of an alternative are recorded, and a key that contains itself ends") {
  using Type = Shape::Type;
  const Shapes shapes = recorded();
  CHECK(shapes.all().contains("deep.er.left"));
  CHECK(shapes.all().contains("deep.er.right"));
  CHECK(shapes.all().at("either").types == std::set{Type::kNumber, Type::kMap});
  CHECK(shapes.all().at("either.inner").types == std::set{Type::kFlag});
  CHECK(shapes.all().at("parts").types == std::set{Type::kList});
  CHECK(shapes.all().at("parts[].path").types == std::set{Type::kText});
  CHECK(shapes.all().contains("again.name"));
  CHECK_FALSE(shapes.all().contains("again.again.name"));
}

TEST_CASE("the JSON schema has the keys, and nothing for keys that no getter requests") {
  const Json schema = json_schema(
      recorded(), [](const std::string& path) { return path == "on" ? std::string("a flag") : ""; });
  const Json& keys = schema["properties"];
  CHECK(keys["name"].dump() == R"({"$ref":"#/definitions/text"})");
  CHECK(keys["on"].dump() == R"({"type":"boolean","description":"a flag"})");
  CHECK(keys["count"].dump() == R"({"type":"integer","minimum":2,"maximum":30})");
  CHECK(keys["word"].dump() == R"({"enum":["one",true]})");
  CHECK(keys["list"].dump() == R"({"$ref":"#/definitions/texts"})");
  CHECK(keys["names"]["additionalProperties"].dump() == R"({"$ref":"#/definitions/text"})");
  CHECK(keys["parts"]["items"]["additionalProperties"].dump() == "false");
  CHECK(schema["additionalProperties"].dump() == "false");
  CHECK(schema["required"].dump() == R"(["name"])");
}
