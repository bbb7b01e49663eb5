#include "base/log/log_sink.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;

namespace {

std::string line(std::size_t size, char letter = 'x') { return std::string(size, letter); }

}  // namespace

TEST_CASE("lines stay in order") {
  LogQueue queue;
  CHECK(queue.empty());
  CHECK_FALSE(queue.pop());
  queue.push(line(1, 'a'));
  queue.push(line(1, 'b'));
  CHECK_FALSE(queue.empty());
  for (const char* expected : {"a", "b"}) {
    const auto next = queue.pop();
    REQUIRE(next);
    CHECK(next->left_out == 0);
    CHECK(next->line.value() == expected);
  }
  CHECK(queue.empty());
  CHECK_FALSE(queue.pop());
}

TEST_CASE("a line that fills the queue to its last byte is kept, and the next line is dropped") {
  LogQueue queue;
  queue.push(line(LogQueue::kMostBytes - 1));
  queue.push(line(1, 'a'));
  queue.push(line(1, 'b'));
  queue.pop();
  CHECK(queue.pop()->line.value() == "a");
  const auto end = queue.pop();
  REQUIRE(end);
  CHECK(end->left_out == 1);
  CHECK_FALSE(end->line);
  CHECK(queue.empty());
}

TEST_CASE("a line that is longer than the whole queue is kept if the queue is empty") {
  LogQueue queue;
  queue.push(line(LogQueue::kMostBytes + 1));
  queue.push(line(1));
  CHECK(queue.pop()->line->size() == LogQueue::kMostBytes + 1);
  CHECK(queue.pop()->left_out == 1);
}

TEST_CASE("lines are dropped until half of the queue is free, and reported as one gap at their place") {
  constexpr std::size_t kQuarter = LogQueue::kMostBytes / 4;
  LogQueue queue;
  for (int i = 0; i < 4; ++i) queue.push(line(kQuarter));
  queue.push(line(1, 'a'));
  queue.pop();
  queue.push(line(1, 'b'));  // dropped: three quarters are in use
  CHECK_FALSE(queue.empty());
  queue.pop();
  queue.push(line(1, 'c'));  // kept: half is in use
  queue.push(line(1, 'd'));
  for (int i = 0; i < 2; ++i) CHECK(queue.pop()->left_out == 0);
  const auto after = queue.pop();
  CHECK(after->left_out == 2);
  CHECK(after->line.value() == "c");
  const auto next = queue.pop();
  CHECK(next->left_out == 0);
  CHECK(next->line.value() == "d");
  CHECK_FALSE(queue.pop());
}

TEST_CASE("the queue is not empty while a gap is unreported") {
  LogQueue queue;
  queue.push(line(LogQueue::kMostBytes));
  queue.push(line(1));
  queue.pop();
  CHECK_FALSE(queue.empty());
  CHECK(queue.pop()->left_out == 1);
  CHECK(queue.empty());
}
