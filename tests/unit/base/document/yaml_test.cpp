#include "base/document/yaml.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

struct Parsed {
  std::optional<Node> root;
  std::vector<std::string> said;
};

Parsed parse(const std::string& text) {
  Diagnostics diagnostics;
  Parsed parsed{.root = parse_yaml(text, "a.yaml", diagnostics), .said = {}};
  for (const Diagnostic& diagnostic : diagnostics.all()) parsed.said.push_back(diagnostic.text());
  return parsed;
}

// Returns the only error that parsing the text causes.
std::string refusal(const std::string& text) {
  const Parsed parsed = parse(text);
  CHECK_FALSE(parsed.root);
  CHECK(parsed.said.size() == 1);
  return parsed.said.empty() ? "" : parsed.said[0];
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("scalars keep the text that was written") {
  const Parsed parsed = parse("{a: 0451, b: 1e3, c: yes, d: 0x1a86, e: \"true\", f: 'x'}");
  REQUIRE(parsed.root);
  CHECK(parsed.said.empty());
  for (const auto& scalar :
       {std::pair("a", "0451"), {"b", "1e3"}, {"c", "yes"}, {"d", "0x1a86"}, {"e", "true"}, {"f", "x"}}) {
    const char* const key = scalar.first;
    CAPTURE(key);
    REQUIRE(parsed.root->find(key));
    CHECK(parsed.root->find(key)->scalar == scalar.second);
    CHECK(parsed.root->find(key)->quoted == (*key >= 'e'));
  }
}

TEST_CASE("marks count from 1, and an empty value has its key's mark") {
  const Parsed parsed = parse("a: 1\nb:\n  - x\n  - {c: y}\nd:\n");
  REQUIRE(parsed.root);
  CHECK(parsed.root->find("a")->mark.text() == "a.yaml:1:4");
  CHECK(parsed.root->find("b")->items[0].mark.text() == "a.yaml:3:5");
  CHECK(parsed.root->find("b")->items[1].find("c")->mark.text() == "a.yaml:4:9");
  CHECK(parsed.root->find("d")->kind == Node::Kind::kNull);
  CHECK(parsed.root->find("d")->mark.text() == "a.yaml:5:1");
}

TEST_CASE("an alias is a copy of its anchor's value") {
  const Parsed parsed = parse("a: &x {b: [1, 2]}\nc: *x\n");
  REQUIRE(parsed.root);
  CHECK(content_of(*parsed.root->find("a")) == content_of(*parsed.root->find("c")));
  CHECK(parsed.root->find("c")->find("b")->items.size() == 2);
}

TEST_CASE("an empty text is an empty node") {
  for (const char* text : {"", "\n\n", "# a comment\n", "---\n", "---\n...\n", "~"}) {
    CAPTURE(text);
    const Parsed parsed = parse(text);
    REQUIRE(parsed.root);
    CHECK(parsed.root->kind == Node::Kind::kNull);
  }
}

TEST_CASE("nested aliases that expand to too many values are refused") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(last + ", ", 9) + last + "]\n";
  }
  CHECK(refusal(text).find("expands to more than 200000 values") != std::string::npos);
}

TEST_CASE("aliases of a long text are refused before they fill the memory") {
  const std::string text = "a: &a " + std::string(60'000, 'x') + "\nb: [" + repeated("*a,\n ", 2000) + "]\n";
  CHECK(refusal(text).find("aliases expand to more than 64 MiB") != std::string::npos);
}

TEST_CASE("values inside many nested anchors count once for each anchor") {
  const std::string text = repeated("&a [", 60) + repeated("x,\n ", 150'000) + repeated("]", 60);
  CHECK(refusal(text).find("expands to more than 200000 values") != std::string::npos);
}

TEST_CASE("a document with more than 200,000 values is refused") {
  CHECK(refusal("[" + repeated("x,\n ", 200'001) + "]").find("more than 200000 values") != std::string::npos);
}

TEST_CASE("a document nested deeper than 64 levels is refused in each YAML style") {
  const std::string words = "nested too deeply: more than 64 levels";
  CHECK(refusal(repeated("[\n", 100'000)).find(words) != std::string::npos);
  CHECK(refusal(repeated("{a: \n", 100'000)).find(words) != std::string::npos);
  CHECK(refusal(repeated("- ", 10'000) + "x").find(words) != std::string::npos);
  CHECK(refusal("a: &a " + repeated("[", 40) + repeated("]", 40) + "\nb: " + repeated("[", 40) + "*a" +
                repeated("]", 40) + "\n")
            .find(words) != std::string::npos);
  CHECK(parse(repeated("[", 64) + repeated("]", 64)).root);
}

TEST_CASE("an unclosed quotation mark is reported, whatever the text's last characters are") {
  for (const char* text : {"a: \"b", "a: \"b\n", "a: \"b\n\n\n", "a: 'b\nc: 1\n", "a: \"b\nc: 1\n# x\n"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("a quotation mark is not closed") != std::string::npos);
  }
}

TEST_CASE(
    "an unclosed quotation mark is reported where it was opened, also among characters of several bytes") {
  for (const char* text :
       {"# a\na: \"b\nc: 1\n", "# \u00e4\u00f6\u00fc \u20ac\na: \"b \u00e4\u00f6\nc: \u20ac\n"}) {
    CAPTURE(text);
    CHECK(refusal(text).starts_with("a.yaml:2:4: not valid YAML"));
  }
}

TEST_CASE("the last line is read with and without its line end") {
  CHECK(parse("a: |\n  x\n").root->find("a")->scalar == "x\n");
  CHECK(parse("a: b").root->find("a")->scalar == "b");
  CHECK(parse("a: 'b'").root->find("a")->scalar == "b");
  CHECK(parse("a: b\n...").root->find("a")->scalar == "b");
}

TEST_CASE("an alias inside of its own anchor is refused") {
  CHECK(refusal("a: &a [*a]") == "a.yaml:1:8: the alias is inside the value that it refers to");
  CHECK(refusal("&a {b: *a}").find("inside the value that it refers to") != std::string::npos);
}

TEST_CASE("parsing a malformed text throws no exception") {
  // Each of these texts has crashed a YAML parser.
  const std::string shapes[] = {"%",
                                "%YAML 9.9\n---\na",
                                "%TAG\n",
                                "&",
                                "*",
                                "!",
                                "!<",
                                "!!",
                                "? ",
                                "? ? ?",
                                ": : :",
                                "- - -",
                                "|",
                                "|9",
                                ">-\n \n  x",
                                "\"\\",
                                "\"\\x",
                                "\"\\uD800\"",
                                "\"\\U00110000\"",
                                "'",
                                "@",
                                "`",
                                "[,]",
                                "{,}",
                                "{:}",
                                "[:]",
                                "{a:b:c}",
                                "a: b: c",
                                "]",
                                "}",
                                "--- ---",
                                "...",
                                "---\n---",
                                "- \t- a",
                                "\t",
                                "a:\n\t- b",
                                "&a &b c",
                                "&a *a",
                                "!a !b c",
                                "*a : b",
                                "&a : b",
                                "<<: <<",
                                "\xEF\xBB\xBF",
                                "\xEF\xBB\xBF\xEF\xBB\xBF",
                                "\r\r\r",
                                "a\r\nb: \r\n"};
  for (const std::string& shape : shapes) {
    CAPTURE(shape);
    for (const std::string& text :
         {shape, "a: " + shape, shape + "\na: 1", "[" + shape, "{a: " + shape + "}"}) {
      CHECK_NOTHROW(parse(text));
    }
  }
}

TEST_CASE("a line that has lost its indentation is reported as such, not as a second document") {
  CHECK(refusal("- a: 1\nb: 2\n") ==
        "a.yaml:2:1: this line belongs to nothing: the list above it ends here, because the line begins in "
        "column "
        "1; did it lose its indentation?");
  CHECK(refusal("{a: 1}\nb: 2\n").find("what stands above it ends here") != std::string::npos);
  CHECK(refusal("- a\n---\nb: 2\n") ==
        "a.yaml:2:1: a second YAML document begins here; a configuration is one document");
  CHECK(refusal("- a\n...\nb: 2\n") ==
        "a.yaml:3:1: a second YAML document begins here; a configuration is one document");
}

TEST_CASE("YAML of other programs may have several documents, tags and merge keys") {
  Diagnostics diagnostics;
  const auto documents = parse_documents(
      "---\n# nothing\n---\na: !!str 1\nb: &b {c: 1, d: 2}\ne: {<<: *b, d: 3}\nf:\n  <<: [{g: 1}, {g: 2, h: "
      "2}]\n"
      "---\n- x\n...\n",
      "a.yaml", diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  REQUIRE(documents);
  REQUIRE(documents->size() == 2);
  const Node& first = documents->front();
  CHECK(first.find("a")->scalar == "1");
  CHECK(first.find("e")->find("c")->scalar == "1");
  CHECK(first.find("e")->find("d")->scalar == "3");
  CHECK(first.find("e")->members.size() == 2);
  CHECK(first.find("f")->find("g")->scalar == "1");
  CHECK(first.find("f")->find("h")->scalar == "2");
  CHECK_FALSE(first.find("f")->find("<<"));
  CHECK(documents->back().kind == Node::Kind::kSequence);
  CHECK_FALSE(parse_documents("- a\nb: c\n", "a.yaml", diagnostics));
}

TEST_CASE("the values that a merge key copies count for the limit of values") {
  std::string text = "a0: &a0 {k: 1}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + "\n  <<: " + before + "\n  x" +
            std::to_string(i) + ": [" + before + ", " + before + "]\n";
  }
  Diagnostics diagnostics;
  CHECK_FALSE(parse_documents(text, "a.yaml", diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].what.find("expands to more than") != std::string::npos);
}

TEST_CASE("characters that YAML treats as line ends but editors do not show are refused") {
  const auto refused = [](const std::string& name) {
    return name +
           " is not allowed here: editors do not show its meaning in YAML; leave it out, or write its escape "
           "in "
           "double quotes";
  };
  CHECK(refusal("a: 1 # x\xE2\x80\xA8"
                "b: 2\n") == "a.yaml:1:9: " + refused("U+2028"));
  CHECK(refusal("a: 1\nb: \"x\xE2\x80\xA9y\"\n") == "a.yaml:2:6: " + refused("U+2029"));
  CHECK(refusal("a: 1\n# \xC2\x85"
                "b: 2\n") == "a.yaml:2:3: " + refused("U+0085"));
  CHECK(refusal("a: 1\n\xEF\xBB\xBF"
                "b: 2\n") == "a.yaml:2:1: " + refused("U+FEFF"));
  CHECK(refusal("a: 1 # x\rb: 2\r\n") == "a.yaml:1:9: " + refused("a carriage return alone"));
  CHECK(refusal("a: 1\r") == "a.yaml:1:5: " + refused("a carriage return alone"));
  CHECK(refusal("a: \xE2\x80\xA9\nb: \xC2\x85\xE2\x80\xA8\r\n") == "a.yaml:1:4: " + refused("U+2029"));
  CHECK(parse("\xEF\xBB\xBF"
              "a: \"\\u2028\\N\"\r\nb: 1\r\n")
            .root->find("a")
            ->scalar == "\xE2\x80\xA8\xC2\x85");
}

TEST_CASE("Windows line ends give the same values at the same places") {
  const Parsed parsed = parse("a: |\r\n  x\r\n  y\r\nb: \"p\\\r\n  q\"\r\nc:\r\n- 1\r\n");
  REQUIRE(parsed.root);
  CHECK(parsed.root->find("a")->scalar == "x\ny\n");
  CHECK(parsed.root->find("b")->scalar == "pq");
  CHECK(parsed.root->find("c")->items[0].mark.text() == "a.yaml:7:3");
}

TEST_CASE("block texts keep, remove or fold their line ends, as their indicator says") {
  const Parsed parsed = parse(
      "a: |\n  x\n\na2: |+\n  x\n\n\nb: |-\n  x\nc: >\n  x\n  y\n\n  z\nd: |1\n  x\ne: 'it''s'\nf: x\n  y\n");
  REQUIRE(parsed.root);
  for (const auto& text : {std::pair("a", "x\n"),
                           {"a2", "x\n\n\n"},
                           {"b", "x"},
                           {"c", "x y\nz\n"},
                           {"d", " x\n"},
                           {"e", "it's"},
                           {"f", "x y"}}) {
    const char* const key = text.first;
    CAPTURE(key);
    REQUIRE(parsed.root->find(key));
    CHECK(parsed.root->find(key)->scalar == text.second);
  }
}

TEST_CASE("a tab is refused only where it indents") {
  const std::string indents = "not valid YAML: a tab indents this line or the one before it; use spaces";
  CHECK(refusal("a:\n\tb: 1\n") == "a.yaml:2:1: " + indents);
  CHECK(refusal("a:\n  b: 1\n\tc: 2\n") == "a.yaml:3:1: " + indents);
  CHECK(refusal("-\ta\n") == "a.yaml:1:2: not valid YAML: there is a tab here; use spaces");
  CHECK(refusal("a: 1\n\t\nb: 2\n") == "a.yaml:2:1: " + indents);
  CHECK(refusal("a: 1\n\t# x\nb: 2\n") == "a.yaml:2:1: " + indents);
  const Parsed parsed = parse("a:\t1\t# x\nb: [1,\n\t2]\nc: 'x\ty'\n");
  REQUIRE(parsed.root);
  CHECK(parsed.root->members.size() == 3);
  CHECK(parsed.root->find("c")->scalar == "x\ty");
}

TEST_CASE("an anchor may be defined again, and ends with its document") {
  const Parsed parsed = parse("a: &x 1\nb: *x\nc: &x 2\nd: *x\n? *x\n: e\n");
  REQUIRE(parsed.root);
  CHECK(parsed.root->find("b")->scalar == "1");
  CHECK(parsed.root->find("d")->scalar == "2");
  CHECK(parsed.root->find("2")->scalar == "e");
  CHECK(refusal("a: *x\nb: &x 1\n").find("a.yaml:1:4: not valid YAML: the alias *x stands for nothing") == 0);
  Diagnostics diagnostics;
  CHECK_FALSE(parse_documents("a: &x 1\n---\nb: *x\n", "a.yaml", diagnostics));
}

TEST_CASE(
    "an unusable key is reported with its place and left out, and of duplicate keys the first is used") {
  const Parsed parsed =
      parse("a: 1\n[x]: 2\n{y: z}: 3\n~: 4\n<<: {b: 5}\na: 6\n\"a\": 7\n!t c: 8\n\"<<\": 9\n");
  REQUIRE(parsed.root);
  CHECK(parsed.said ==
        std::vector<std::string>{
            "a.yaml:8:1: the tag '!t' has no meaning here; leave it out",
            "a.yaml:2:1: a key is text, and this is a list", "a.yaml:3:1: a key is text, and this is a map",
            "a.yaml:4:1: a key is text, and this is nothing",
            "a.yaml:5:1: merge keys (<<) are not supported; write the keys out, or use an alias as a value",
            "a.yaml:6:1: the key 'a' is a duplicate; the first is at a.yaml:1:1",
            "a.yaml:7:1: the key 'a' is a duplicate; the first is at a.yaml:1:1"});
  CHECK(content_of(*parsed.root) == content_of(*parse("{\"<<\": 9, a: 1, c: 8}").root));
}

TEST_CASE("maps with tens of thousands of keys are read, up to the limit of values") {
  std::string keys;
  for (int i = 0; i < 90'000; ++i) keys += "k" + std::to_string(i) + ":\n";
  const Parsed parsed = parse(keys);
  REQUIRE(parsed.root);
  CHECK(parsed.root->members.size() == 90'000);
  std::string merged = "a: &a\n";
  for (int i = 0; i < 60'000; ++i) merged += " k" + std::to_string(i) + ":\n";
  Diagnostics diagnostics;
  CHECK_FALSE(parse_documents(merged + "b: {<<: *a}\n", "a.yaml", diagnostics));
  std::string some = "a: &a\n";
  for (int i = 0; i < 20'000; ++i) some += " k" + std::to_string(i) + ":\n";
  const auto documents = parse_documents(some + "b: {x: 1, <<: *a, k7: 2}\n", "a.yaml", diagnostics);
  REQUIRE(documents);
  CHECK(documents->front().find("b")->members.size() == 20'001);
  CHECK(documents->front().find("b")->find("k7")->scalar == "2");
}

TEST_CASE("columns count bytes, whatever precedes them") {
  const Parsed parsed = parse("\xC3\xA4: 1\nb: [\xE2\x82\xAC, c]\nd:\n");
  REQUIRE(parsed.root);
  CHECK(parsed.root->find("\xC3\xA4")->mark.text() == "a.yaml:1:5");
  CHECK(parsed.root->find("b")->items[1].mark.text() == "a.yaml:2:10");
  CHECK(parsed.root->find("d")->mark.text() == "a.yaml:3:1");
  CHECK(refusal("# \xC3\xA4\n\xC3\xA4: b: c\n").find("a.yaml:2:6: not valid YAML") == 0);
}

TEST_CASE("a YAML version and document markers are accepted") {
  for (const char* text : {"%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n...\n", "---\na: 1\n...\n"}) {
    CAPTURE(text);
    CHECK(parse(text).root->find("a")->scalar == "1");
  }
  CHECK(refusal("a: 1\n---\n").find("a.yaml:2:1: a second YAML document begins here") == 0);
  CHECK(refusal("%YAML 2.0\n---\na: 1\n").find("a.yaml:1:1: not valid YAML") == 0);
}

TEST_CASE("each frequent mistake is reported with its likely cause") {
  for (const auto& broken :
       {std::pair<const char*, const char*>{"a: \"x\\'y\"\n", "in double quotes a backslash"},
        {"a: @x\n", "quote a text that begins with @"},
        {"a: *\n", "quote a text that begins with *"},
        {"a: &\n", "quote a text that begins with &"},
        {"a: x: y\n", "a text with ': ' in it has no quotes"},
        {"a: {b: c\n", "a '{' has no '}'"},
        {"a: [b, c\n", "a '[' has no ']'"},
        {"a: {b:, c: d}\n", "a space is missing after the ':'"},
        {"a: [b,, c]\n", "a value is missing, or a ',' is too many"},
        {"a: ]\n", "a ']' or '}' closes nothing"},
        {"a: 1\nb\nc: 2\n", "a ':' is missing after a key"},
        {"a: -\n", "a list item is not allowed here"},
        {"a:\n - b\n c: d\n", "is indented like the list's items, but has no '- '"},
        {"  - a\n - b\n", "this line belongs to nothing"}}) {
    CAPTURE(broken.first);
    CHECK(refusal(broken.first).find(broken.second) != std::string::npos);
  }
}

TEST_CASE("the largest allowed file is read") {
  std::string text;
  while (text.size() + 20 < (1u << 20)) text += "- \"0123456789abcdef" + repeated("x", 44) + "\"\n";
  const Parsed parsed = parse(text);
  REQUIRE(parsed.root);
  CHECK(parsed.root->items.back().mark.line == static_cast<int>(parsed.root->items.size()));
}

}  // namespace
}  // namespace plughost
