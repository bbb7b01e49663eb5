#include "model/device/names.hpp"

#include <doctest/doctest.h>

#include <set>

namespace plughost {
namespace {

std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  return count;
}

TEST_CASE("UTF-8 is what RFC 3629 allows") {
  CHECK(valid_utf8(""));
  CHECK(valid_utf8("gopher"));
  CHECK(valid_utf8("é\u20AC\U0001F600\U0010FFFF\u0080"));
  CHECK_FALSE(valid_utf8("\x80"));              // a lone continuation byte
  CHECK_FALSE(valid_utf8("\xC3"));              // truncated
  CHECK_FALSE(valid_utf8("\xC0\xAF"));          // overlong
  CHECK_FALSE(valid_utf8("\xE0\x80\xAF"));      // overlong
  CHECK_FALSE(valid_utf8("\xF0\x80\x80\xAF"));  // overlong
  CHECK_FALSE(valid_utf8("\xED\xA0\x80"));      // surrogate
  CHECK_FALSE(valid_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  CHECK_FALSE(valid_utf8("a\xFFz"));
}

TEST_CASE("a valid name is its own id") {
  for (const std::string name : {"a", "GPU-8f0c::1", "nicktming.com/gpu-0", "größe", "usb-FTDI_A1-if00"}) {
    CHECK(stable_id(name) == name);
  }
  CHECK(stable_id(std::string(63, 'x')) == std::string(63, 'x'));
}

TEST_CASE("characters that are invalid in ids are escaped") {
  CHECK(stable_id("a b,c%d") == "a%20b%2Cc%25d");
  CHECK(stable_id("a\nb\x7f") == "a%0Ab%7F");
  CHECK(stable_id("\u0085") == "%C2%85");
  CHECK(stable_id("\u00A0") == "\u00A0");
  CHECK(stable_id("x\xFFy") == "x%FFy");
}

TEST_CASE("a long name is cut and ends in its hash") {
  const std::string id = stable_id(std::string(64, 'x'));
  CHECK(id.size() == 63);
  CHECK(id.starts_with(std::string(46, 'x') + '-'));
  CHECK(id == stable_id(std::string(64, 'x')));
  CHECK(id != stable_id(std::string(65, 'x')));
  // The hash is FNV-1a-64, so that ids are the same in every version of the program.
  CHECK(stable_id("The quick brown fox", 18) == "T-2374316b9b449782");
}

TEST_CASE("a cut keeps whole characters and whole escapes") {
  std::string name;
  for (int i = 0; i < 64; ++i) name += "é";
  const std::string id = stable_id(name);
  CHECK(valid_utf8(id));
  CHECK(characters(id) == 63);

  const std::string escaped = stable_id(std::string(45, 'x') + std::string(20, ','));
  CHECK(escaped.substr(0, 46) == std::string(45, 'x') + '-');
}

TEST_CASE("different names have different ids") {
  std::set<std::string> ids;
  for (const std::string name : {"a b", "a%20b", "a%b", "a,b"}) ids.insert(stable_id(name));
  CHECK(ids.size() == 4);
}

}  // namespace
}  // namespace plughost
