#include "base/document/fields.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using std::chrono::milliseconds;

Node text(std::string_view words) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = words;
  return node;
}

Node quoted(std::string_view words) {
  Node node = text(words);
  node.quoted = true;
  return node;
}

Node list(std::vector<Node> items) {
  Node node;
  node.kind = Node::Kind::kSequence;
  node.items = std::move(items);
  return node;
}

Node map(std::vector<std::pair<std::string, Node>> members) {
  Node node;
  node.kind = Node::Kind::kMap;
  for (auto& [key, value] : members) node.members.push_back({text(key), std::move(value)});
  return node;
}

// Returns the diagnostics that arise when `read(fields)` reads the map `node`.
template <typename Read>
std::vector<std::string> said(const Node& node, Read read) {
  Diagnostics diagnostics;
  {
    Fields fields(node, "at", diagnostics);
    read(fields);
  }
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : diagnostics.all())
    all.push_back(diagnostic.path + ": " + diagnostic.message());
  return all;
}

// Returns what a getter returns for `value`, and the number of errors.
template <typename Get>
auto got(const Node& value, Get get) {
  const Node node = map({{"key", value}});
  Diagnostics diagnostics;
  Fields fields(node, "", diagnostics);
  const auto result = get(fields);
  return std::pair(result, diagnostics.error_count());
}

TEST_CASE("an unknown key is reported with the most similar valid key") {
  const auto all = said(map({{"paht", text("/x")}, {"other", text("1")}}), [](Fields& fields) {
    fields.text("path", "");
    fields.flag("recursive", false);
  });
  REQUIRE(all.size() == 2);
  CHECK(all[0] == "at: unknown key 'paht' (did you mean 'path'?)");
  CHECK(all[1] == "at: unknown key 'other'; valid: path, recursive");
}

TEST_CASE("a key that is present is not what an unknown key means") {
  const auto all = said(map({{"hostPath", text("/x")}, {"ostPath", text("/x")}}), [](Fields& fields) {
    fields.text("hostPath", "");
    fields.text("nodes", "");
  });
  CHECK(all == std::vector<std::string>{"at: unknown key 'ostPath'; valid: hostPath, nodes"});
}

TEST_CASE("a blank that is missing after a key's colon is named, if the key is known") {
  const auto all = said(map({{"path:/dev/kvm", Node()}, {"pth:/a", Node()}, {"path", text("/x")}}),
                        [](Fields& fields) { fields.text("path", ""); });
  REQUIRE(all.size() == 2);
  CHECK(all[0] ==
        "at: unknown key 'path:/dev/kvm': a blank is missing after the colon; write path: /dev/kvm");
  CHECK(all[1] == "at: unknown key 'pth:/a'; valid: path");
}

TEST_CASE("a value that is not a map is reported once, and its keys are not reported as missing") {
  const auto all = said(text("/etc"), [](Fields& fields) {
    fields.require_text("path");
    fields.error("path", "it is missing");
  });
  REQUIRE(all.size() == 1);
  CHECK(all[0] == "at: must be a map, not '/etc'");
}

TEST_CASE("a missing value reads as an empty map") {
  CHECK(said(Node{}, [](Fields& fields) { CHECK(fields.text("a", "b") == "b"); }).empty());
  const auto missing = said(Node{}, [](Fields& fields) { fields.require_text("path"); });
  REQUIRE(missing.size() == 1);
  CHECK(missing[0] == "at.path: the key 'path' is missing");
}

TEST_CASE("a value that a getter has refused is reported once") {
  const auto all = said(map({{"paths", text("/x")}}), [](Fields& fields) {
    CHECK(fields.items("paths").empty());
    fields.error("paths", "at least one is needed");
  });
  CHECK(all.size() == 1);
}

TEST_CASE("a text is returned as written in the configuration") {
  const auto get = [](Fields& fields) { return fields.text("key", "fallback"); };
  CHECK(got(text("0451"), get) == std::pair(std::string("0451"), 0ul));
  CHECK(got(text("true"), get) == std::pair(std::string("true"), 0ul));
  CHECK(got(list({}), get) == std::pair(std::string("fallback"), 1ul));
  CHECK(got(Node{}, get) == std::pair(std::string("fallback"), 1ul));
}

TEST_CASE("a number consists of decimal digits") {
  const auto get = [](Fields& fields) { return fields.number("key", 7, 1, 100); };
  CHECK(got(text("10"), get) == std::pair(10u, 0ul));
  CHECK(got(quoted("10"), get) == std::pair(10u, 0ul));
  CHECK(got(text("1"), get) == std::pair(1u, 0ul));
  CHECK(got(text("100"), get) == std::pair(100u, 0ul));
  for (const char* wrong :
       {"0", "101", "010", "0x10", "1e1", "10.0", "ten", "-1", "+1", "", "1 ", "4294967306"}) {
    CAPTURE(wrong);
    CHECK(got(text(wrong), get) == std::pair(7u, 1ul));
  }
}

TEST_CASE("only true and false without quotes are accepted as a flag") {
  const auto get = [](Fields& fields) { return fields.flag("key", true); };
  CHECK(got(text("false"), get) == std::pair(false, 0ul));
  CHECK(got(text("true"), get) == std::pair(true, 0ul));
  for (const char* wrong : {"no", "False", "off", "0", ""}) {
    CAPTURE(wrong);
    CHECK(got(text(wrong), get) == std::pair(true, 1ul));
  }
  CHECK(got(quoted("false"), get) == std::pair(true, 1ul));
}

TEST_CASE("a duration has units, from the largest to the smallest") {
  const auto get = [](Fields& fields) {
    return fields.duration("key", milliseconds(7), milliseconds(0), std::chrono::days(1000));
  };
  CHECK(got(text("90s"), get) == std::pair(milliseconds(90'000), 0ul));
  CHECK(got(text("1h30m"), get) == std::pair(milliseconds(5'400'000), 0ul));
  CHECK(got(text("250ms"), get) == std::pair(milliseconds(250), 0ul));
  CHECK(got(text("2d"), get) == std::pair(milliseconds(172'800'000), 0ul));
  CHECK(got(text("0s"), get) == std::pair(milliseconds(0), 0ul));
  for (const char* wrong : {"30", "", "s", "5 m", "1m1h", "1s1s", "-1s", "1.5h", "never", "1001d",
                            "999d24h1m", "99999999999999999999d", "1h30"}) {
    CAPTURE(wrong);
    CHECK(got(text(wrong), get) == std::pair(milliseconds(7), 1ul));
  }
}

TEST_CASE("a choice accepts only the known words") {
  static constexpr Word<int> kWords[] = {{"none", 0}, {"spread", 7}, {"packed", 1}};
  const auto get = [](Fields& fields) { return fields.choice("key", kWords, 5); };
  CHECK(got(text("none"), get) == std::pair(0, 0ul));
  CHECK(got(text("packed"), get) == std::pair(1, 0ul));
  CHECK(got(text("Packed"), get) == std::pair(5, 1ul));
  CHECK(got(text(""), get) == std::pair(5, 1ul));
}

TEST_CASE("a path is absolute, and loses its final slash") {
  const auto get = [](Fields& fields) { return fields.absolute_path("key", "/fallback"); };
  CHECK(got(text("/a/b"), get) == std::pair(std::string("/a/b"), 0ul));
  CHECK(got(text("/a/b/"), get) == std::pair(std::string("/a/b"), 0ul));
  CHECK(got(text("/"), get) == std::pair(std::string("/"), 0ul));
  CHECK(got(text("/a/..b/...c"), get) == std::pair(std::string("/a/..b/...c"), 0ul));
  for (const char* wrong : {"", "a", "./a", "//a", "/a//b", "/a/../b", "/a/.", "/a//", "/.."}) {
    CAPTURE(wrong);
    CHECK(got(text(wrong), get) == std::pair(std::string("/fallback"), 1ul));
  }
}

TEST_CASE("a template with an unknown placeholder is refused") {
  static constexpr std::string_view kKnown[] = {"id", "path"};
  const auto get = [](Fields& fields) { return fields.pattern("key", "{id}", kKnown).text(); };
  CHECK(got(text("x-{path}"), get) == std::pair(std::string("x-{path}"), 0ul));
  CHECK(got(text("{pth}"), get) == std::pair(std::string("{id}"), 1ul));
  CHECK(got(text("{x} {y} {x}"), get) == std::pair(std::string("{id}"), 2ul));
  CHECK(got(text("{"), get) == std::pair(std::string("{id}"), 1ul));
}

TEST_CASE("a single text is a list of one") {
  const auto get = [](Fields& fields) { return fields.texts("key"); };
  CHECK(got(text("a"), get) == std::pair(std::vector<std::string>{"a"}, 0ul));
  CHECK(got(list({text("a"), text("b")}), get) == std::pair(std::vector<std::string>{"a", "b"}, 0ul));
  CHECK(got(list({text("a"), list({})}), get) == std::pair(std::vector<std::string>{"a"}, 1ul));
  CHECK(got(map({}), get) == std::pair(std::vector<std::string>{}, 1ul));
  CHECK(got(Node{}, get) == std::pair(std::vector<std::string>{}, 0ul));
}

}  // namespace
}  // namespace plughost
