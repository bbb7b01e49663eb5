#include "base/log_form.hpp"

#include <doctest/doctest.h>

#include <ctime>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

// The form's fields are initializer lists: they live as long as the call.
std::string text(LogForm form, LogLevel level, unsigned left_out = 0) {
  const std::chrono::system_clock::time_point time{1'700'000'000s + 7ms};
  return formed(form, {.level = level,
                       .words = "a word",
                       .fields = {{"k", "v w"}},
                       .left_out = left_out,
                       .time = time})
      .text;
}

// "2023-11-14 22:13:20" where the clock shows UTC.
std::string second() {
  const std::time_t seconds = 1'700'000'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace

TEST_CASE("a line for people has the time of the clock on the wall, the level and the words") {
  CHECK(text(LogForm::kText, LogLevel::kDebug) == second() + ".007 debug a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kInfo) == second() + ".007 info  a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kWarn) == second() + ".007 warning a word k=\"v w\"\n");
  CHECK(text(LogForm::kText, LogLevel::kError, 3) == second() + ".007 error a word k=\"v w\" left_out=3\n");
}

TEST_CASE("on a terminal the level has a colour of its own") {
  CHECK(text(LogForm::kColours, LogLevel::kDebug) ==
        second() + ".007 \033[36mdebug\033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kInfo) == second() + ".007 \033[32minfo \033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kWarn) ==
        second() + ".007 \033[33m\033[1mwarning\033[m a word k=\"v w\"\n");
  CHECK(text(LogForm::kColours, LogLevel::kError) ==
        second() + ".007 \033[31m\033[1merror\033[m a word k=\"v w\"\n");
}

TEST_CASE("a line for a program is an object with the time in UTC") {
  CHECK(
      text(LogForm::kJson, LogLevel::kWarn) ==
      "{\"time\":\"2023-11-14T22:13:20.007000Z\",\"level\":\"warn\",\"message\":\"a word\",\"k\":\"v w\"}\n");
  CHECK(text(LogForm::kJson, LogLevel::kError, 2) ==
        "{\"time\":\"2023-11-14T22:13:20.007000Z\",\"level\":\"error\",\"message\":\"a word\",\"k\":\"v w\","
        "\"left_out\":2}\n");
}

TEST_CASE(
    "a line for the journal is a datagram, and a text with its priority should the journal not take it") {
  const LogMessage message{.level = LogLevel::kInfo, .words = "a word", .fields = {{"after_ms", "7"}}};
  const LogLine line = formed(LogForm::kJournal, message);
  CHECK(line.text == "<6>a word after_ms=7\n");
  CHECK(line.datagram ==
        "MESSAGE=a word after_ms=7\nPRIORITY=6\nSYSLOG_IDENTIFIER=plughost\nPLUGHOST_EVENT=a word\n"
        "PLUGHOST_AFTER_MS=7\n");
  CHECK(line.size() == line.text.size() + line.datagram.size());
  CHECK(text(LogForm::kJournal, LogLevel::kDebug).starts_with("<7>"));
  CHECK(text(LogForm::kJournal, LogLevel::kWarn).starts_with("<4>"));
  CHECK(text(LogForm::kJournal, LogLevel::kError).starts_with("<3>"));
}

TEST_CASE("nothing but a line for the journal has a datagram") {
  for (const LogForm form : {LogForm::kText, LogForm::kColours, LogForm::kJson})
    CHECK(formed(form, {.words = "a word"}).datagram.empty());
}
