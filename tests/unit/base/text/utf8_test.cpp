#include "base/text/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;
using namespace std::string_literals;

namespace {

// A character's code and length in bytes; {0, 0} if there is none.
struct Read {
  char32_t code;
  std::size_t length;
  bool operator==(const Read&) const = default;
};

Read read(const std::string& text) {
  const Character character = first_character(text);
  return {character.code, character.length};
}

}  // namespace

TEST_CASE("a text is read character by character, from one byte to four") {
  CHECK(read("az") == Read{'a', 1});
  CHECK(read("\0"s) == Read{0, 1});
  CHECK(read("\x7f") == Read{0x7f, 1});
  CHECK(read("\xC2\x80") == Read{0x80, 2});
  CHECK(read("\xDF\xBF") == Read{0x7ff, 2});
  CHECK(read("\xE0\xA0\x80") == Read{0x800, 3});
  CHECK(read("\xE2\x80\xAEx") == Read{0x202e, 3});
  CHECK(read("\xED\x9F\xBF") == Read{0xd7ff, 3});
  CHECK(read("\xEE\x80\x80") == Read{0xe000, 3});
  CHECK(read("\xEF\xBF\xBF") == Read{0xffff, 3});
  CHECK(read("\xF0\x90\x80\x80") == Read{0x10000, 4});
  CHECK(read("\xF4\x8F\xBF\xBF") == Read{0x10ffff, 4});
}

TEST_CASE("an invalid character has the length 0") {
  CHECK(read("").length == 0);
  CHECK(read("\x80").length == 0);  // a lone continuation byte
  CHECK(read("\xBF").length == 0);
  CHECK(read("\xC0\x80").length == 0);  // overlong
  CHECK(read("\xC1\xBF").length == 0);
  CHECK(read("\xE0\x9F\xBF").length == 0);
  CHECK(read("\xF0\x8F\xBF\xBF").length == 0);
  CHECK(read("\xED\xA0\x80").length == 0);  // a surrogate
  CHECK(read("\xED\xBF\xBF").length == 0);
  CHECK(read("\xF4\x90\x80\x80").length == 0);  // above U+10FFFF
  CHECK(read("\xF5\x80\x80\x80").length == 0);
  CHECK(read("\xFF").length == 0);
}

TEST_CASE("a character that is cut off, or continues wrongly, is invalid") {
  CHECK(read("\xC3").length == 0);
  CHECK(read("\xC3z").length == 0);
  CHECK(read("\xE2\x82").length == 0);
  CHECK(read("\xE2\x82z").length == 0);
  CHECK(read("\xF0\x9F\x92").length == 0);
  CHECK(read("\xF0\x9F\x92z").length == 0);
}

TEST_CASE("a text is cut between characters, and before an invalid one") {
  CHECK(whole_characters("abc", 3) == "abc");
  CHECK(whole_characters("abc", 2) == "ab");
  CHECK(whole_characters("a\xC3\xBC"
                         "b",
                         2) == "a");
  CHECK(whole_characters("a\xC3\xBC"
                         "b",
                         3) == "a\xC3\xBC");
  CHECK(whole_characters("ab\xFF"
                         "c",
                         9) == "ab");
  CHECK(whole_characters("", 9).empty());
}
