#include "host/programs/program.hpp"

#include <doctest/doctest.h>

using namespace plughost;

TEST_CASE("the first and the last non-empty line are found") {
  CHECK(first_line("\n  too hot \r\nsecond\n") == "too hot");
  CHECK(last_line("first\n  too hot \r\n\n  \n") == "too hot");
  CHECK(last_line("only") == "only");
  for (const char* blank : {"", "\n", " \t\r\n \n"}) {
    CHECK(first_line(blank).empty());
    CHECK(last_line(blank).empty());
  }
}

TEST_CASE("a line is printable UTF-8 of at most 200 bytes") {
  CHECK(last_line("a\tb\x1b[0m") == "a b [0m");
  CHECK(last_line("\xff 90\xc2\xb0 \xe2\x82") == "? 90\xc2\xb0 ??");
  CHECK(last_line(std::string(1000, 'x')).size() <= 200);
}
