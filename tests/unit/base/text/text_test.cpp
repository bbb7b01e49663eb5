#include "base/text/text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "base/log/log_line.hpp"
#include "base/text/ascii.hpp"
#include "base/text/printable_stream.hpp"
#include "base/text/words.hpp"

using namespace plughost;

TEST_CASE("a time is read back as written") {
  CHECK(utc_text(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(utc_text(1'763'748'000'000'001) == "2025-11-21T18:00:00.000001Z");
  for (const std::int64_t time : {0L, 1L, 999'999L, 1'000'000L, 1'763'748'000'123'456L})
    CHECK(microseconds_of(utc_text(time)) == time);
}

TEST_CASE("an invalid time is refused") {
  for (const char* text :
       {"", "now", "2025-11-21", "2025-11-21T18:00:00Z", "2025-11-21T18:00:00.000001",
        "2025-11-21T18:00:00.1Z", "2025-11-21T18:00:00.000001Z ", "2025-13-21T18:00:00.000001Z"}) {
    CAPTURE(text);
    CHECK_FALSE(microseconds_of(text));
  }
  for (const char* fraction : {"-12345", " 12345", "+12345", "12345 ", "1234567", "12345"})
    CHECK_FALSE(microseconds_of(std::string("2026-11-21T18:00:00.") + fraction + "Z"));
}

TEST_CASE("a value is quoted unless it is one plain ASCII word") {
  CHECK(one_word("usb-1.2:3") == "usb-1.2:3");
  CHECK(one_word("é") == "\"é\"");
  CHECK(one_word("") == "\"\"");
  CHECK(one_word("two words") == "\"two words\"");
  CHECK(one_word("a=b") == "\"a=b\"");
  CHECK(one_word("say \"it\"") == "\"say \\\"it\\\"\"");
  CHECK(one_word("back\\slash") == "\"back\\\\slash\"");
  CHECK(one_word("\x7f") == "\"\\u007f\"");
}

TEST_CASE("letters, digits, control characters and case are those of ASCII only") {
  for (const char c : {'a', 'z', 'A', 'Z'}) CHECK(is_letter(c));
  for (const char c : {'`', '{', '@', '[', '0', '_', '\xe4'}) CHECK_FALSE(is_letter(c));
  for (const char c : {'0', '9'}) CHECK((is_digit(c) && is_letter_or_digit(c)));
  for (const char c : {'/', ':'}) CHECK_FALSE(is_letter_or_digit(c));
  for (const char c : {'0', '9', 'a', 'f', 'A', 'F'}) CHECK(is_hex_digit(c));
  for (const char c : {'`', 'g', '@', 'G', '/', ':'}) CHECK_FALSE(is_hex_digit(c));
  for (const char c : {'\0', '\x1f', '\x7f'}) CHECK(is_control(c));
  for (const char c : {' ', '~', '\x80'}) CHECK_FALSE(is_control(c));
  CHECK(to_lower("@AZ[\xc4 9") == "@az[\xc4 9");
  CHECK((to_upper('a') == 'A' && to_upper('z') == 'Z' && to_upper('{') == '{' && to_upper('`') == '`'));
  CHECK((is_digits("09") && !is_digits("") && !is_digits("0a") && !is_digits("-1")));
}

TEST_CASE("bytes and halves of bytes are written in hexadecimal digits") {
  CHECK(upper_hex('\n') == "0A");
  CHECK(upper_hex('\xf9') == "F9");
  CHECK((lower_hex(0) == '0' && lower_hex(15) == 'f' && lower_hex(0xa9) == '9'));
  CHECK(printable("a\tb\x7f\xc3\xa4") == "a\\x09b\\x7F\xc3\xa4");
}

TEST_CASE("a text is unsafe if it moves the cursor, ends the line or changes the writing direction") {
  for (const char32_t code : std::vector<char32_t>{0x0, 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9b, 0x9f, 0x61c,
                                                   0x200e, 0x200f, 0x2028, 0x202a, 0x202e, 0x2066, 0x2069})
    CHECK_MESSAGE(is_unsafe(code), static_cast<unsigned>(code));
  for (const char32_t code : std::vector<char32_t>{0x20, 0x7e, 0xa0, 0xe4, 0x61b, 0x61d, 0x200d, 0x2010,
                                                   0x2027, 0x202f, 0x2065, 0x206a, 0x1f600})
    CHECK_MESSAGE(!is_unsafe(code), static_cast<unsigned>(code));
}

TEST_CASE("printable() writes unsafe characters and invalid bytes as hexadecimal digits") {
  CHECK(printable("a\xc2\x9b"
                  "31m\xc2\xa0\xe2\x80\xae"
                  "b") ==
        "a\\xC2\\x9B31m\xc2\xa0\\xE2\\x80\\xAE"
        "b");
  CHECK(printable("a\xff\xc3") == "a\\xFF\\xC3");
  CHECK(printable("a\tb\r\n", "\n\t") == "a\tb\\x0D\n");
  CHECK(unicode_escape(0x202e) == "\\u202e");
  CHECK(one_word("a\xc2\x9b") == "\"a\\u009b\"");
}

TEST_CASE("PrintableStream: a Coloured text has its escape sequences if the stream has colours") {
  const auto written = [](bool coloured) {
    std::ostringstream out;
    {
      const PrintableStream printable(out, coloured);
      out << "a " << Coloured{Colour::kRed, "\x1b[32mred"} << Coloured{Colour::kNone, " b"};
      out << Coloured{Colour::kGreen, "g"} << Coloured{Colour::kYellow, "y"} << '\n';
    }
    return out.str();
  };
  CHECK(written(false) == "a \\x1B[32mred bgy\n");
  CHECK(written(true) == "a \x1b[31m\\x1B[32mred\x1b[0m b\x1b[32mg\x1b[0m\x1b[33my\x1b[0m\n");
  std::ostringstream other;
  other << Coloured{Colour::kRed, "red"};
  CHECK(other.str() == "red");
}

TEST_CASE("print_table: colours do not change the width of a cell") {
  std::ostringstream out;
  {
    const PrintableStream printable(out, true);
    print_table(out, {"A", "B"}, {{"red", "x"}, {"no", "y"}},
                [](std::string_view cell) { return cell == "red" ? Colour::kRed : Colour::kNone; });
  }
  CHECK(out.str() == "A    B\n\x1b[31mred\x1b[0m  x\nno   y\n");
}

TEST_CASE("PrintableStream makes a stream's output printable line by line, until PrintableStream ends") {
  std::ostringstream out;
  {
    const PrintableStream printable(out);
    out << "a\x1b[2J\tb" << std::flush << "\xe2\x80"
        << "\xae\n";
    CHECK(out.rdbuf() != nullptr);
    out << 'c' << '\r';
  }
  CHECK(out.str() == "a\\x1B[2J\tb\\xE2\\x80\\xAE\nc\\x0D");
  out << '\r';
  CHECK(out.str().ends_with('\r'));
}

TEST_CASE("a stream fails if the wrapped one does") {
  std::ofstream full("/dev/full");
  const PrintableStream printable(full);
  full << "a\n" << std::flush;
  CHECK_FALSE(full.good());
}

TEST_CASE("words and numbers are joined, including empty ones") {
  CHECK(joined(std::vector<std::string>{}, ", ").empty());
  CHECK(joined(std::vector<std::string>{"", "b", ""}, ", ") == ", b, ");
  CHECK(joined(std::vector<int>{1, -2}, ",") == "1,-2");
}

TEST_CASE("a counted noun is in the plural unless there is one") {
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(1, "entry") == "1 entry");
  CHECK(counted(2, "entry") == "2 entries");
}

TEST_CASE("a number is digits only, up to the maximum") {
  CHECK(number_in<unsigned>("0") == 0u);
  CHECK(number_in<unsigned>("010") == 10u);
  CHECK(number_in<int>("-1") == -1);
  CHECK(number_in<std::uint64_t>("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  CHECK(number_in("2047", 2047u) == 2047u);
  CHECK_FALSE(number_in("2048", 2047u));
  CHECK_FALSE(number_in<std::uint64_t>("18446744073709551616"));
  CHECK_FALSE(number_in<std::uint16_t>("65536"));
  for (const char* wrong : {"", " 1", "1 ", "+1", "-1", "0x1", "1.0", "a"}) {
    CAPTURE(wrong);
    CHECK_FALSE(number_in<unsigned>(wrong));
  }
}

TEST_CASE("a word maps to its value, and a value to its first word") {
  static constexpr Word<int> kWords[] = {{"two", 2}, {"one", 1}, {"deux", 2}};
  CHECK(value_of(kWords, "one") == 1);
  CHECK(value_of(kWords, "deux") == 2);
  CHECK_FALSE(value_of(kWords, "One"));
  CHECK(word_of(kWords, 2) == "two");
  CHECK(word_of(kWords, 3).empty());
}

TEST_CASE("the log's levels have one word each") {
  CHECK(level_name(LogLevel::kDebug) == "debug");
  CHECK(level_name(LogLevel::kInfo) == "info");
  CHECK(level_name(LogLevel::kWarn) == "warn");
  CHECK(level_name(LogLevel::kError) == "error");
  CHECK(value_of(kLogLevels, "warn") == LogLevel::kWarn);
}
