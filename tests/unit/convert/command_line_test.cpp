#include "convert/command_line.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) {
  Diagnostics diagnostics;
  Words found = words_of(text, "--args", diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  return found;
}

TEST_CASE("a command line is split as a shell splits it") {
  CHECK(words("") == Words{});
  CHECK(words("  a  b\t'c d' \"e \\\" f\" g\\ h i''j \"\"") ==
        Words{"a", "b", "c d", "e \" f", "g h", "ij", ""});
  CHECK(words("a --b c \\\n  --d 'e\nf'") == Words{"a", "--b", "c", "--d", "e\nf"});
  CHECK(words("--a 'b\\c' \"d\\e\\\\\"") == Words{"--a", "b\\c", "d\\e\\"});
}

TEST_CASE("JSON that has lost the quotation marks around it is one word") {
  CHECK(words(R"(--device {"name": "a b", "c": {"d": "}"}} --domain e)") ==
        Words{"--device", R"({"name": "a b", "c": {"d": "}"}})", "--domain", "e"});
  CHECK(words(R"(--device={"a": "\"}"} b)") == Words{R"(--device={"a": "\"}"})", "b"});
  CHECK(words("a{b c} {d") == Words{"a{b", "c}", "{d"});
}

TEST_CASE("a command line may be a list in JSON or YAML") {
  CHECK(words(R"( ["--device", "name: a\ngroups: []", "--domain", "b c"] )") ==
        Words{"--device", "name: a\ngroups: []", "--domain", "b c"});
  CHECK(words("- --device\n- |\n  name: a\n  groups: []\n- --domain=b\n") ==
        Words{"--device", "name: a\ngroups: []\n", "--domain=b"});
  CHECK(words("[a, {b: c}]") == Words{"[a,", "{b: c}]"});
}

TEST_CASE("a command line may have each word in lines of its own") {
  CHECK(words("--device\nname: a\ngroups:\n- paths: [{path: /dev/a}]\n--domain\nb\n--device=name: c\ngroups: "
              "d\n") == Words{"--device", "name: a\ngroups:\n- paths: [{path: /dev/a}]", "--domain", "b",
                              "--device=name: c\ngroups: d"});
  CHECK(words("/bin/plugin\r\n--domain\r\nb\r\n-v=2\r\n") == Words{"/bin/plugin", "--domain", "b", "-v=2"});
  // These are as a shell reads them.
  CHECK(words("--domain b\n--log-level c") == Words{"--domain", "b", "--log-level", "c"});
  CHECK(words("plugin --domain b\n  --device 'c'") == Words{"plugin", "--domain", "b", "--device", "c"});
  CHECK(words("--device\n'name: a'") == Words{"--device", "name: a"});
}

TEST_CASE("a quotation mark that is not closed, and what is no text, are reported") {
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
