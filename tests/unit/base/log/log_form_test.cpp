#include "base/log/log_sink.hpp"

#include <doctest/doctest.h>

#include <spdlog/details/log_msg.h>

#include <ctime>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

std::string text(LogForm form, LogLevel level, std::string line = packed("a word", {{"k", "v w"}})) {
  const std::chrono::system_clock::time_point time{1'700'000'000s + 7ms};
  spdlog::memory_buf_t out;
  formatter_of(form)->format({time, {}, {}, static_cast<spdlog::level::level_enum>(level), line}, out);
  return {out.data(), out.size()};
}

const std::string kTime = "2023-11-14T22:13:20.007Z";

}  // namespace

TEST_CASE("a line for a terminal has the time in UTC, the level, the words and the fields") {
  CHECK(text(LogForm::kText, LogLevel::kDebug) == kTime + " debug a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kInfo) == kTime + " info  a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kWarn) == kTime + " warn  a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kError, packed("alone", {})) == kTime + " error alone\n");
}

TEST_CASE("on a terminal each level has its colour") {
  CHECK(text(LogForm::kColours, LogLevel::kDebug) == kTime + " \033[36mdebug\033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kInfo) == kTime + " \033[32minfo \033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kWarn) == kTime + " \033[33m\033[1mwarn \033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kError) ==
        kTime + " \033[31m\033[1merror\033[m a word k=\"v w\"\n");
}

TEST_CASE("a JSON line is an object with the time in UTC") {
  CHECK(
      text(LogForm::kJson, LogLevel::kWarn) ==
      "{\"time\":\"2023-11-14T22:13:20.007000Z\",\"level\":\"warn\",\"message\":\"a word\",\"k\":\"v w\"}\n");
  CHECK(text(LogForm::kJson, LogLevel::kError, packed("alone", {})) ==
        "{\"time\":\"2023-11-14T22:13:20.007000Z\",\"level\":\"error\",\"message\":\"alone\"}\n");
}

TEST_CASE("in a JSON line the fields for numbers are numbers, and an id that has only digits is text") {
  CHECK(text(LogForm::kJson, LogLevel::kInfo,
             packed("x", {{"after_ms", "4"}, {"devices", "4"}, {"count", "many"}}))
            .ends_with(R"("message":"x","after_ms":4,"devices":"4","count":"many"})"
                       "\n"));
}

TEST_CASE(
    "a journal line holds the datagram for the journal, and the text to write if the journal refuses the "
    "datagram") {
  using namespace std::string_literals;
  CHECK(text(LogForm::kJournal, LogLevel::kInfo, packed("a word", {{"after_ms", "7"}})) ==
        "<6>a word after_ms=7\n\0MESSAGE=a word after_ms=7\nPRIORITY=6\nSYSLOG_IDENTIFIER=plughost\n"
        "PLUGHOST_EVENT=a word\nPLUGHOST_AFTER_MS=7\n"s);
  CHECK(text(LogForm::kJournal, LogLevel::kDebug).starts_with("<7>"));
  CHECK(text(LogForm::kJournal, LogLevel::kWarn).starts_with("<4>"));
  CHECK(text(LogForm::kJournal, LogLevel::kError).starts_with("<3>"));
}

TEST_CASE("only journal lines contain a null byte, whatever the words and fields contain") {
  const std::string line =
      packed(std::string_view("t\0o", 3), {{"k", std::string("v\0w", 3)}, {"empty", ""}});
  for (const LogForm form : {LogForm::kText, LogForm::kColours, LogForm::kJson})
    CHECK(text(form, LogLevel::kInfo, line).find('\0') == std::string::npos);
  CHECK(unpacked(line) == std::vector<std::string_view>{"t o", "k", "v w", "empty", ""});
  CHECK(unpacked(packed("", {})) == std::vector<std::string_view>{""});
}
