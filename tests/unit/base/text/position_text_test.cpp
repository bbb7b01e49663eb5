#include "base/text/template.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

TEST_CASE("a device's position replaces each {n} of the pattern") {
  const PositionText one = "/dev/modem{n}";
  CHECK(one.has_position());
  CHECK(one.at(0) == "/dev/modem0");
  CHECK(one.at(12) == "/dev/modem12");
  const PositionText several = "{n}/a{n}{n}/b";
  CHECK(several.at(3) == "3/a33/b");
  CHECK(several.pattern() == "{n}/a{n}{n}/b");
}

TEST_CASE("a pattern without {n} gives the same text for each position") {
  const PositionText text = "/dev/modem";
  CHECK_FALSE(text.has_position());
  CHECK(text.at(0) == "/dev/modem");
  CHECK(text.at(1) == "/dev/modem");
  CHECK(PositionText().at(1).empty());
  CHECK(PositionText().valid());
}

TEST_CASE("a doubled brace is a literal brace") {
  const PositionText text = "/a{{n}}{{{n}}}";
  CHECK(text.valid());
  CHECK(text.at(1) == "/a{n}{1}");
  CHECK(text.pattern() == "/a{{n}}{{{n}}}");
  const std::string any = "/}{{n}/{x}";
  const PositionText escaped = Template::escape(any);
  CHECK(escaped.at(7) == any);
  CHECK_FALSE(escaped.has_position());
  CHECK(escaped.pattern() == Template::escape(any));
}

TEST_CASE("a pattern with an unknown placeholder or a single brace is invalid, and stays as written") {
  for (const char* pattern : {"/a{", "/a}", "/{n}{", "/{x}", "/{n", "/{N}", "/{ n}", "/}n{", "/{}"}) {
    CAPTURE(pattern);
    const PositionText text = pattern;
    CHECK_FALSE(text.valid());
    CHECK_FALSE(text.has_position());
    CHECK(text.pattern() == pattern);
  }
}

TEST_CASE("two texts are equal if their patterns are equal") {
  CHECK(PositionText("/a{n}") == PositionText("/a{n}"));
  CHECK_FALSE(PositionText("/a{n}") == PositionText("/a"));
  CHECK_FALSE(PositionText("/{n}a") == PositionText("/a{n}"));
  CHECK_FALSE(PositionText("{{") == PositionText("{"));
}

}  // namespace
}  // namespace plughost
