#include "tools/convert/manifests/arguments.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Arguments arguments(Texts words, std::map<std::string, std::string> environment = {}) {
  Diagnostics diagnostics;
  Arguments found({.image = {}, .words = std::move(words), .environment = std::move(environment)}, "a pod",
                  diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  return found;
}

TEST_CASE("a flag's value is the next word or the text after its '=', and the last value counts") {
  Arguments given = arguments({"/bin/plugin", "run", "--a", "1", "-b=2", "--c", "--a=3", "--d"});
  CHECK(given.value("a") == "3");
  CHECK(given.values("a") == Texts{"1", "3"});
  CHECK(given.value("b") == "2");
  CHECK(given.value("c") == "");
  CHECK(given.value("e") == std::nullopt);
  given.record("b", "gpu.mig");
  const auto fates = given.fates();
  REQUIRE(fates.size() == 5);
  CHECK(fates[0].name == "--a");
  CHECK(fates[0].became == "");
  CHECK(fates[1].became == "gpu.mig");
  CHECK(fates[4].name == "--d");
  CHECK(fates[4].became == std::nullopt);
  CHECK(given.has("d"));
  CHECK_FALSE(given.has("run"));
}

TEST_CASE("an environment variable gives the value of a missing flag") {
  Arguments given = arguments(
      {"--mig-strategy", "mixed"},
      {{"MIG_STRATEGY", "none"}, {"DEVICE_ID_STRATEGY", "index"}, {"GDS_ENABLED", "False"}, {"DOMAIN", ""}});
  CHECK(given.value("mig-strategy") == "mixed");
  CHECK(given.value("device-id-strategy") == "index");
  CHECK(given.truth("gds-enabled") == false);
  CHECK(given.value("domain") == std::nullopt);
  CHECK(given.variable("DOMAIN") == "");
  for (const auto& [name, value, became] : given.fates()) CHECK(became.has_value());
}

TEST_CASE("a flag is true unless its value is false") {
  Arguments given = arguments({"--a", "--b=true", "--c=false", "--d=0", "--e=f", "--g=F"});
  CHECK(given.truth("a") == true);
  CHECK(given.truth("b") == true);
  CHECK(given.truth("c") == false);
  CHECK(given.truth("d") == false);
  CHECK(given.truth("e") == false);
  CHECK(given.truth("g") == false);
  CHECK(given.truth("h") == std::nullopt);
}

TEST_CASE("a word that belongs to no flag is reported") {
  Diagnostics diagnostics;
  const Arguments given({.image = {}, .words = {"plugin", "--a", "b", "c"}, .environment = {}}, "a pod",
                        diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].text() == "a pod: 'c' belongs to no flag; flags begin with '-'");
}

Texts words(std::string_view text) {
  Diagnostics diagnostics;
  Texts found = words_of(text, "--args", diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  return found;
}

TEST_CASE("a command line is split like a shell's") {
  CHECK(words("") == Texts{});
  CHECK(words("  a  b\t'c d' \"e \\\" f\" g\\ h i''j \"\"") ==
        Texts{"a", "b", "c d", "e \" f", "g h", "ij", ""});
  CHECK(words("a --b c \\\n  --d 'e\nf'") == Texts{"a", "--b", "c", "--d", "e\nf"});
  CHECK(words("--a 'b\\c' \"d\\e\\\\\"") == Texts{"--a", "b\\c", "d\\e\\"});
}

TEST_CASE("JSON in a command line is one word, even without quotation marks around it") {
  CHECK(words(R"(--device {"name": "a b", "c": {"d": "}"}} --domain e)") ==
        Texts{"--device", R"({"name": "a b", "c": {"d": "}"}})", "--domain", "e"});
  CHECK(words(R"(--device={"a": "\"}"} b)") == Texts{R"(--device={"a": "\"}"})", "b"});
  CHECK(words("a{b c} {d") == Texts{"a{b", "c}", "{d"});
}

TEST_CASE("a command line may be a list in JSON or YAML") {
  CHECK(words(R"( ["--device", "name: a\ngroups: []", "--domain", "b c"] )") ==
        Texts{"--device", "name: a\ngroups: []", "--domain", "b c"});
  CHECK(words("- --device\n- |\n  name: a\n  groups: []\n- --domain=b\n") ==
        Texts{"--device", "name: a\ngroups: []\n", "--domain=b"});
  CHECK(words("[a, {b: c}]") == Texts{"[a,", "{b: c}]"});
}

TEST_CASE("a command line may have each word on its own line") {
  CHECK(words("--device\nname: a\ngroups:\n- paths: [{path: /dev/a}]\n--domain\nb\n--device=name: c\ngroups: "
              "d\n") == Texts{"--device", "name: a\ngroups:\n- paths: [{path: /dev/a}]", "--domain", "b",
                              "--device=name: c\ngroups: d"});
  CHECK(words("/bin/plugin\r\n--domain\r\nb\r\n-v=2\r\n") == Texts{"/bin/plugin", "--domain", "b", "-v=2"});
  // If a line has several words or quotation marks, the text is split as by a shell.
  CHECK(words("--domain b\n--log-level c") == Texts{"--domain", "b", "--log-level", "c"});
  CHECK(words("plugin --domain b\n  --device 'c'") == Texts{"plugin", "--domain", "b", "--device", "c"});
  CHECK(words("--device\n'name: a'") == Texts{"--device", "name: a"});
}

TEST_CASE("an unclosed quotation mark, a control character and invalid UTF-8 are reported") {
  Diagnostics diagnostics;
  words_of("--device 'a b", "--args", diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].text() == "--args:1:10: the quotation mark is not closed");
  CHECK(words_of("a\x01", "--args", diagnostics).empty());
  CHECK(words_of("a\xff", "--args", diagnostics).empty());
  CHECK(diagnostics.all().size() == 3);
}

}  // namespace
}  // namespace plughost
