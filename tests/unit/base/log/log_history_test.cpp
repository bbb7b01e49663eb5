#include "base/log/log_history.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;

namespace {

void add(LogHistory& history, LogLevel level, std::string_view words, LogFields fields = {}) {
  history.add(level, packed(words, fields), std::chrono::system_clock::now());
}

std::uint64_t oldest(const LogHistory& history) { return history.after(0).value().number; }

}  // namespace

TEST_CASE("the history has its lines in order, with their fields") {
  LogHistory history;
  CHECK_FALSE(history.after(0).has_value());
  add(history, LogLevel::kWarn, "one", {{"why", "it is so"}, {"empty", ""}});
  add(history, LogLevel::kInfo, std::string_view("t\0o", 3));
  const auto one = history.after(0);
  REQUIRE(one.has_value());
  CHECK(one->number == 1);
  CHECK(one->level == LogLevel::kWarn);
  CHECK(one->words == "one");
  CHECK(one->fields == std::vector<std::pair<std::string, std::string>>{{"why", "it is so"}, {"empty", ""}});
  CHECK(history.after(1).value().words == "t o");
  CHECK(history.after(1)->fields.empty());
  CHECK(history.newest() == 2);
  CHECK_FALSE(history.after(2).has_value());
  CHECK_FALSE(history.after(3).has_value());
}

TEST_CASE("the newest lines are kept, up to a limit") {
  LogHistory history;
  for (std::size_t i = 1; i <= LogHistory::kMost; ++i) add(history, LogLevel::kInfo, std::to_string(i));
  CHECK(oldest(history) == 1);
  add(history, LogLevel::kInfo, std::to_string(LogHistory::kMost + 1));
  CHECK(oldest(history) == 2);
  for (std::uint64_t number = 2; number <= LogHistory::kMost + 1; ++number)
    CHECK(history.after(number - 1).value().words == std::to_string(number));
}

TEST_CASE("the history keeps fewer lines if they are long, and each kept line is whole") {
  LogHistory history;
  std::uint64_t last = 0;
  for (const std::size_t size : {10'000U, 16 * 1024U, 1U, 777U, 12'345U}) {
    for (int i = 0; i < 100; ++i)
      add(history, LogLevel::kInfo, std::to_string(++last) + std::string(size, 'x'));
    std::size_t text = 0;
    for (std::uint64_t number = oldest(history); number <= last; ++number) {
      const auto record = history.after(number - 1);
      REQUIRE(record.has_value());
      CHECK(record->number == number);
      CHECK(record->words.starts_with(std::to_string(number) + "x"));
      CHECK(record->words.find_first_not_of('x', std::to_string(number).size()) == std::string::npos);
      text += record->words.size();
    }
    CHECK(text <= LogHistory::kMostText);
    CHECK(text + 2 * 16 * 1024 >= std::min<std::size_t>(LogHistory::kMostText, 100 * size));
  }
}

TEST_CASE("a line longer than 16 KiB is cut") {
  LogHistory history;
  add(history, LogLevel::kInfo, std::string(16 * 1024, 'x'));
  add(history, LogLevel::kInfo, std::string(16 * 1024 + 1, 'x'), {{"key", "value"}});
  CHECK(history.after(0).value().words.size() == 16 * 1024);
  CHECK(history.after(1).value().words.size() == 16 * 1024);
  CHECK(history.after(1)->fields.empty());
}
