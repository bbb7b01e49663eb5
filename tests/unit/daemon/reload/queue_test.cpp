#include "daemon/reload/config_controller.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

const auto kNobody = [](const ReloadAnswer&) {};
constexpr ReloadOrder kPlain;
constexpr ReloadOrder kDebug{.level = LogLevel::kDebug};
constexpr ReloadOrder kWarn{.level = LogLevel::kWarn};

}  // namespace

TEST_CASE("no reload begins without a request") {
  ReloadQueue queue;
  CHECK_FALSE(queue.begin());
  CHECK(queue.idle());
}

TEST_CASE("while a reload waits or runs the queue is not idle") {
  ReloadQueue queue;
  queue.add_if_changed();
  CHECK_FALSE(queue.idle());
  REQUIRE(queue.begin());
  CHECK_FALSE(queue.idle());
  queue.end();
  CHECK(queue.idle());
}

TEST_CASE("one reload runs at a time") {
  ReloadQueue queue;
  queue.add(kPlain, kNobody);
  CHECK(queue.begin());
  CHECK_FALSE(queue.begin());
  queue.add(kPlain, kNobody);
  CHECK_FALSE(queue.begin());
  CHECK(queue.end().waiting.size() == 1);
  CHECK(queue.begin());
}

TEST_CASE("2,000 requests at once take two reloads: the running one, and one that begins after them") {
  ReloadQueue queue;
  queue.add(kPlain, kNobody);
  REQUIRE(queue.begin());
  for (int i = 0; i < 1999; ++i) queue.add(kPlain, kNobody);
  CHECK(queue.end().waiting.size() == 1);
  REQUIRE(queue.begin());
  CHECK(queue.end().waiting.size() == 1999);
  CHECK_FALSE(queue.begin());
}

TEST_CASE("requests that arrive before a reload begins share this reload") {
  ReloadQueue queue;
  queue.add(kPlain, kNobody);
  queue.add(kPlain, kNobody);
  REQUIRE(queue.begin());
  CHECK(queue.end().waiting.size() == 2);
}

TEST_CASE("a request for a different log level gets a reload of its own, in turn") {
  ReloadQueue queue;
  for (const ReloadOrder& order : {kDebug, kDebug, kPlain, kDebug}) queue.add(order, kNobody);
  std::vector<std::pair<std::optional<LogLevel>, std::size_t>> batches;
  while (queue.begin()) {
    const ReloadQueue::Batch batch = queue.end();
    batches.emplace_back(batch.order.level, batch.waiting.size());
  }
  REQUIRE(batches.size() == 3);
  CHECK((batches[0].first == LogLevel::kDebug && batches[0].second == 2));
  CHECK((!batches[1].first && batches[1].second == 1));
  CHECK((batches[2].first == LogLevel::kDebug && batches[2].second == 1));
}

TEST_CASE("a request for a trial, or for a trial of a different length, gets a reload of its own") {
  ReloadQueue queue;
  using namespace std::chrono_literals;
  const ReloadOrder kMinute{.level = {}, .confirm = 60s};
  const ReloadOrder kHour{.level = {}, .confirm = 3600s};
  for (const ReloadOrder& order : {kPlain, kMinute, kMinute, kHour}) queue.add(order, kNobody);
  std::vector<std::pair<std::optional<std::chrono::seconds>, std::size_t>> batches;
  while (queue.begin()) {
    const ReloadQueue::Batch batch = queue.end();
    batches.emplace_back(batch.order.confirm, batch.waiting.size());
  }
  REQUIRE(batches.size() == 3);
  CHECK((!batches[0].first && batches[0].second == 1));
  CHECK((batches[1].first == 60s && batches[1].second == 2));
  CHECK((batches[2].first == 3600s && batches[2].second == 1));
}

TEST_CASE("an equal request during a reload is answered by the next reload") {
  ReloadQueue queue;
  std::string order;
  queue.add(kWarn, [&](const ReloadAnswer&) { order += "first "; });
  REQUIRE(queue.begin());
  queue.add(kWarn, [&](const ReloadAnswer&) { order += "second "; });
  const ReloadQueue::Batch first = queue.end();
  for (const auto& done : first.waiting) done({});
  CHECK(order == "first ");
  REQUIRE(queue.begin());
  const ReloadQueue::Batch second = queue.end();
  for (const auto& done : second.waiting) done({});
  CHECK(order == "first second ");
}

TEST_CASE("a change of the files joins a reload that has not begun, or leads to a reload of its own") {
  ReloadQueue queue;
  queue.add_if_changed();
  REQUIRE(queue.begin());
  queue.add_if_changed();  // the running reload may have read the file already
  queue.add_if_changed();
  CHECK(queue.end().waiting.empty());
  REQUIRE(queue.begin());
  queue.add(kPlain, kNobody);
  queue.add_if_changed();
  CHECK(queue.end().waiting.empty());
  REQUIRE(queue.begin());
  CHECK(queue.end().waiting.size() == 1);
  CHECK_FALSE(queue.begin());
}

TEST_CASE("a request joins a reload that a change of the files has requested and that has not begun") {
  ReloadQueue queue;
  queue.add_if_changed();
  queue.add(kPlain, kNobody);
  REQUIRE(queue.begin());
  CHECK(queue.end().waiting.size() == 1);
  CHECK_FALSE(queue.begin());
}
