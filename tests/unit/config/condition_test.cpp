#include "config/condition.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

using Kind = Verdict::Kind;

Condition condition(const std::string& text) {
  Diagnostics diagnostics;
  const auto node = parse_yaml(text, "when.yaml", diagnostics);
  REQUIRE(node);
  Condition read = Condition::read(*node, "when", diagnostics);
  CAPTURE(text);
  for (const Diagnostic& diagnostic : diagnostics.all()) FAIL(diagnostic.text());
  return read;
}

// Returns a machine with the files /dev/kvm and /dev/tun.
NodeView view() {
  return {
      .machine = {.hostname = "gpu-7",
                  .kernel = "6.1.0-28-amd64",
                  .arch = "x86_64",
                  .vendor = "Example",
                  .product = "Blade 3"},
      .labels = {.node = "n1", .labels = {{"rack", "a1"}, {"empty", ""}}, .error = {}},
      .exists = [](const std::string& pattern) { return pattern == "/dev/kvm" || pattern == "/dev/tun"; }};
}

Verdict ask(const std::string& text) { return condition(text).evaluate(view()); }

bool applies(const std::string& text) { return ask(text).kind == Kind::kApplies; }

std::string why_not(const std::string& text) {
  const Verdict verdict = ask(text);
  CHECK(verdict.kind == Kind::kDoesNot);
  return verdict.why;
}

TEST_CASE("each key of a condition is compared with its own fact about the node") {
  CHECK(applies("hostname: gpu-*"));
  CHECK(why_not("hostname: web-*") == "hostname is 'gpu-7', not web-*");
  CHECK(applies("kernel: 6.1.*"));
  CHECK(why_not("kernel: 5.*") == "kernel is '6.1.0-28-amd64', not 5.*");
  CHECK(applies("arch: x86_64"));
  CHECK(applies("arch: amd64"));
  CHECK(why_not("arch: arm64") == "arch is 'x86_64', not arm64");
  CHECK(applies("dmi: {vendor: Example}"));
  CHECK(why_not("dmi: {vendor: Blade*}") == "dmi.vendor is 'Example', not Blade*");
  CHECK(applies("dmi: {product: 'Blade ?'}"));
  CHECK(why_not("dmi: {vendor: Example, product: Rack*}") == "dmi.product is 'Blade 3', not Rack*");
  CHECK(applies("node: n?"));
  CHECK(why_not("node: m1") == "node is 'n1', not m1");
  CHECK(applies("label: {rack: a*}"));
  CHECK(applies("label: {empty: ''}"));
  CHECK(applies("label: {empty: '*'}"));
  CHECK_FALSE(applies("label: {rack: ''}"));
  CHECK(why_not("label: {rack: b*}") == "label rack is 'a1', not b*");
  CHECK(why_not("label: {zone: '*'}") == "the node has no label zone");
  CHECK(applies("exists: /dev/kvm"));
  CHECK(why_not("exists: /dev/nothing") == "/dev/nothing does not exist");
}

TEST_CASE("of a list one item must match, but of `exists` every item") {
  CHECK(applies("hostname: [web-*, gpu-*]"));
  CHECK(why_not("hostname: [web-*, db-*]") == "hostname is 'gpu-7', not web-* or db-*");
  CHECK(applies("exists: [/dev/kvm, /dev/tun]"));
  CHECK(why_not("exists: [/dev/kvm, /dev/nothing]") == "/dev/nothing does not exist");
}

TEST_CASE("all keys must match") {
  CHECK(applies("{hostname: gpu-*, arch: amd64}"));
  CHECK_FALSE(applies("{hostname: gpu-*, arch: arm64}"));
  CHECK_FALSE(applies("{hostname: web-*, arch: amd64}"));
}

TEST_CASE("any condition of a list must match") {
  CHECK(applies("[{hostname: web-*}, {arch: amd64}]"));
  CHECK(why_not("[{hostname: web-*}, {arch: arm64}]") ==
        "hostname is 'gpu-7', not web-*; arch is 'x86_64', not arm64");
}

TEST_CASE("`not` holds if a key of its condition does not match") {
  CHECK(applies("not: {hostname: web-*}"));
  CHECK(why_not("not: {hostname: gpu-*}") == "what `not` excludes is so: hostname gpu-*");
  CHECK(applies("not: {hostname: gpu-*, arch: arm64}"));
  CHECK(why_not("not: [{hostname: web-*}, {exists: [/dev/kvm, /dev/tun], arch: [amd64, arm64]}]") ==
        "what `not` excludes is so: arch amd64 or arm64, exists /dev/kvm and /dev/tun");
  CHECK(applies("not: {not: {arch: amd64}}"));
  CHECK_FALSE(applies("{arch: amd64, not: {hostname: gpu-*}}"));
}

TEST_CASE("a condition on unknown labels is unknown, unless a different key decides the result") {
  NodeView unknown = view();
  unknown.labels = {.node = {}, .labels = {}, .error = "/labels: it cannot be read"};
  const Verdict verdict = condition("label: {rack: a*}").evaluate(unknown);
  CHECK(verdict.kind == Kind::kUnknown);
  CHECK(verdict.why == "the node's labels are not known: /labels: it cannot be read");
  CHECK(condition("node: n1").evaluate(unknown).kind == Kind::kUnknown);
  CHECK(condition("not: {label: {rack: a*}}").evaluate(unknown).kind == Kind::kUnknown);
  CHECK(condition("{label: {rack: a*}, arch: arm64}").evaluate(unknown).kind == Kind::kDoesNot);
  CHECK(condition("[{label: {rack: a*}}, {arch: amd64}]").evaluate(unknown).kind == Kind::kApplies);
  CHECK(condition("[{label: {rack: a*}}, {arch: arm64}]").evaluate(unknown).kind == Kind::kUnknown);
  CHECK(condition("{label: {rack: a*}, arch: amd64}").evaluate(unknown).kind == Kind::kUnknown);
  // The node's name may be known although its labels are not.
  unknown.labels.node = "n1";
  CHECK(condition("node: n1").evaluate(unknown).kind == Kind::kApplies);
}

TEST_CASE("a condition has a short text") {
  CHECK(condition("[{hostname: [a, b], not: {arch: arm64}}, {label: {rack: a*}}]").text() ==
        "(hostname a or b, not arch arm64) or (label rack a*)");
}

TEST_CASE("a condition lists what its evaluation depends on") {
  const Condition all = condition("[{exists: [/a, /b]}, {not: {exists: /c}}]");
  CHECK(all.paths() == std::vector<std::string>{"/a", "/b", "/c"});
  CHECK_FALSE(all.names_labels());
  CHECK(condition("not: {label: {a: b}}").names_labels());
  CHECK_FALSE(condition("label: {a: b}").names_node());
  CHECK(condition("node: a").names_node());
}

}  // namespace
}  // namespace plughost
