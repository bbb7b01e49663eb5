#include "telemetry/header_limit.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;

namespace {

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum Type : char { kData = 0, kHeaders = 1, kSettings = 4, kContinuation = 9 };
enum Flags : char { kNone = 0, kEndStream = 1, kEndHeaders = 4 };

std::string frame(Type type, char flags, std::size_t length) {
  std::string text;
  for (const int shift : {16, 8, 0}) text += static_cast<char>(length >> shift & 0xff);
  text += type;
  text += flags;
  text += std::string("\0\0\0\1", 4);
  // What is in it looks like frames of headers.
  return text + std::string(length, kHeaders);
}

// In one piece and byte by byte.
bool passes(const std::string& bytes) {
  HeaderLimit whole;
  HeaderLimit pieces;
  bool all = true;
  for (std::size_t i = 0; i < bytes.size() && all; ++i) all = pieces.pass({bytes.data() + i, 1});
  CHECK(whole.pass(bytes) == all);
  return all;
}

}  // namespace

TEST_CASE("a block of headers has at most 64 KiB, in however many frames it comes") {
  const std::size_t most = HeaderLimit::kMost;
  CHECK(most == 65536);
  CHECK(passes(kPreface + frame(kSettings, kNone, 0) + frame(kHeaders, kEndHeaders, most)));
  CHECK_FALSE(passes(kPreface + frame(kHeaders, kEndHeaders, most + 1)));
  CHECK(passes(kPreface + frame(kHeaders, kNone, 16384) + frame(kContinuation, kNone, 16384) +
               frame(kContinuation, kEndHeaders, 32768)));
  CHECK_FALSE(passes(kPreface + frame(kHeaders, kNone, 16384) + frame(kContinuation, kNone, 16384) +
                     frame(kContinuation, kEndHeaders, 32769)));
  CHECK_FALSE(passes(kPreface + frame(kHeaders, kEndStream, most) + frame(kContinuation, kNone, 1)));
}

TEST_CASE("a block that has ended leaves the next one all of its room, and other frames are no headers") {
  std::string bytes = kPreface;
  for (int i = 0; i < 10; ++i)
    bytes += frame(kHeaders, kEndHeaders | kEndStream, 60000) + frame(kData, kEndStream, 100000);
  CHECK(passes(bytes));
  CHECK_FALSE(passes(bytes + frame(kHeaders, kNone, 60000) + frame(kContinuation, kEndHeaders, 60000)));
}

TEST_CASE("a block's length counts before any of it is there") {
  CHECK_FALSE(passes(kPreface + frame(kHeaders, kNone, HeaderLimit::kMost + 1).substr(0, 9)));
  CHECK(passes(kPreface + frame(kHeaders, kNone, HeaderLimit::kMost + 1).substr(0, 8)));
  CHECK(passes(kPreface.substr(0, 23)));
}
