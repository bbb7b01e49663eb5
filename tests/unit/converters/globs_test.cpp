#include "converters/globs.hpp"

#include <doctest/doctest.h>
#include <fnmatch.h>

#include <algorithm>
#include <regex>

namespace plughost {
namespace {

using Patterns = std::vector<std::string>;

bool matches(const Globs& globs, const std::string& name) {
  return std::ranges::any_of(globs.patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  });
}

TEST_CASE("an expression that is anchored becomes patterns that match the same names") {
  const Patterns names = {"",       "video",  "video0", "video10", "video123", "video0p1", "xvideo0",
                          "videox", "media1", "i2c-1",  "i2c-12",  "ttyS0",    "ttyUSB3",  "snd/a",
                          "a.b",    "axb",    "nvme0",  "nvme0n1", "mmcblk0p1"};
  for (const std::string regex :
       {"^video[0-9]*$", "^video[0-9]+$", "^video\\d?$", "^(video|media)[0-9]$", "^i2c-[0-9]{1,2}$",
        "^tty(S|USB)[0-9]$", "^nvme[0-9]*$", "^a\\.b$", "^video0$|^media1$", "^snd/a$", "^(?:a[^b]b)$"}) {
    CAPTURE(regex);
    const auto globs = globs_of(regex);
    REQUIRE(globs);
    CHECK(globs->exact);
    for (const std::string& name : names) {
      CAPTURE(name);
      CHECK(matches(*globs, name) == std::regex_search(name, std::regex(regex)));
    }
  }
}

TEST_CASE("an expression without anchors is looked for anywhere in the name, and says that it is not exact") {
  CHECK(globs_of("ttyACM")->patterns == Patterns{"*ttyACM*"});
  CHECK(globs_of("^*tun$")->patterns == Patterns{"*tun"});
  CHECK(globs_of("^?tun$")->patterns == Patterns{"*tun"});
  CHECK_FALSE(globs_of("^+tun$"));
  CHECK(globs_of("^video[0-9]*")->patterns == Patterns{"video*"});
  CHECK(globs_of("x*ab+$")->patterns == Patterns{"*ab", "*abb", "*abbb"});
  CHECK(globs_of("^serial/by-id/.*$")->patterns == Patterns{"serial/by-id/*"});
  CHECK(globs_of("^a.+b$")->patterns == Patterns{"a?*b"});
  CHECK_FALSE(globs_of("ttyACM")->exact);
  CHECK_FALSE(globs_of("^a.b$")->exact);
}

TEST_CASE("a repetition without end is written out, and says so") {
  const auto globs = globs_of("^a[0-9]*$");
  REQUIRE(globs);
  CHECK(globs->patterns == Patterns{"a", "a[0-9]", "a[0-9][0-9]", "a[0-9][0-9][0-9]"});
  CHECK(globs->bounded);
  CHECK_FALSE(globs_of("^a[0-9]?$")->bounded);
}

TEST_CASE("what cannot be said with patterns is no pattern") {
  for (const std::string regex :
       {"(?i)a", "a\\b", "\\Aa", "[[:digit:]]", "[a", "(a", "a)", "a**", "a{2", "a{3,1}", "a{99}", "*a",
        "[^/]a", "a\\", "(a|b)(c|d)(e|f)(g|h)(i|j)(k|l)(m|n)", "((((((((((a))))))))))", "^a^b$",
        "^[ab]{1,20}(a|b){5}$"}) {
    CAPTURE(regex);
    CHECK_FALSE(globs_of(regex));
  }
}

}  // namespace
}  // namespace plughost
