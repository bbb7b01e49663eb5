#include "tools/convert/converters/globs.hpp"

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

TEST_CASE("an anchored expression becomes patterns that match the same names") {
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

TEST_CASE(
    "a regular expression without anchors becomes patterns for names and for paths in up to three "
    "directories") {
  const Patterns in_directories = {"*tun", "*/*tun", "*/*/*tun", "*/*/*/*tun"};
  CHECK(globs_of("^*tun$")->patterns == in_directories);
  CHECK(globs_of("^?tun$")->patterns == in_directories);
  CHECK_FALSE(globs_of("^+tun$"));
  CHECK(globs_of("^serial/by-id/.*$")->patterns == Patterns{"serial/by-id/*", "serial/by-id/*/*"});
  CHECK(globs_of("ttyACM")->patterns.size() == 10);
  CHECK(globs_of("^a\\*.*$")->patterns == Patterns{"a[*]*", "a[*]*/*", "a[*]*/*/*", "a[*]*/*/*/*"});
  for (const std::string regex : {"ttyACM", "^*tun$", "^video[0-9]*", "^bus.*$", "x*ab+$"}) {
    CAPTURE(regex);
    const auto globs = globs_of(regex);
    REQUIRE(globs);
    CHECK_FALSE(globs->exact);
    for (const std::string name :
         {"tun",      "net/tun",    "a/b/tun",         "a/b/c/tun", "tunx",    "ttyACM0",   "serial/ttyACM",
          "ttyACM/x", "a/ttyACM/b", "a/b/xttyACM0/c",  "video",     "video12", "video/a/b", "a/video",
          "bus",      "bus/usb",    "bus/usb/001/002", "xbus",      "ab",      "a/ab",      "b/xabb",
          "acb",      "a/b/c",      "axx/yb"}) {
      CAPTURE(name);
      const std::string expression = regex == "^*tun$" ? "tun$" : regex;
      CHECK(matches(*globs, name) == std::regex_search(name, std::regex(expression)));
    }
  }
  CHECK(globs_of("^a.+b$")->patterns.front() == "a?*b");
  CHECK_FALSE(globs_of("^a.b$")->exact);
}

TEST_CASE("an unlimited repetition becomes patterns for a few repetitions, and is marked as bounded") {
  const auto globs = globs_of("^a[0-9]*$");
  REQUIRE(globs);
  CHECK(globs->patterns == Patterns{"a", "a[0-9]", "a[0-9][0-9]", "a[0-9][0-9][0-9]"});
  CHECK(globs->bounded);
  CHECK_FALSE(globs->cut);
  CHECK(globs_of("^a[a-z]*$")->cut);
  CHECK_FALSE(globs_of("^a[0-9]?$")->bounded);
}

TEST_CASE("an expression that patterns cannot express is refused") {
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
