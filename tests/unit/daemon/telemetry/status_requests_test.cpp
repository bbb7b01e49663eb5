#include "daemon/telemetry/status_requests.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "unit/run_until.hpp"

using namespace plughost;

namespace {

// A daemon that answers when the test calls answer().
struct Asked final : StatusRequests::Owner {
  EventLoop loop;
  LogHistory history;
  std::vector<std::function<void(DaemonStatus)>> status;
  std::vector<WithHolders> asked_with;
  std::vector<ReloadOrder> orders;
  std::vector<ConfirmDone> keeps;
  std::vector<ReloadDone> reloads;
  std::unique_ptr<StatusRequests> requests = std::make_unique<StatusRequests>(loop, history, *this);

  void query_status(WithHolders with, StatusMade done) override {
    asked_with.push_back(with);
    status.push_back(std::move(done));
  }
  void reload(ReloadOrder order, ReloadDone done) override {
    orders.push_back(order);
    reloads.push_back(std::move(done));
  }
  void confirm(ConfirmDone done) override { keeps.push_back(std::move(done)); }
  void drain(DrainOrder /*order*/, StatusRequests::DrainDone /*done*/) override {}
  void hand_over(HandOverStep /*step*/, pid_t /*by*/, HandOver::Done /*done*/) override {}

  void answer(std::size_t question, DaemonStatus what = {}) { status.at(question)(std::move(what)); }
  // Runs the loop until the condition holds, because answers come on another thread.
  bool eventually(const std::function<bool()>& condition) { return test::run_until(loop, condition); }
};

// The answers received. Thread-safe.
struct Answers {
  StatusRequests::StatusDone keep() {
    return [this](const StatusRequests::SnapshotPointer& snapshot) {
      const std::lock_guard lock(mutex);
      told.push_back(snapshot);
      thread = std::this_thread::get_id();
    };
  }
  std::size_t count() const {
    const std::lock_guard lock(mutex);
    return told.size();
  }

  mutable std::mutex mutex;
  std::vector<StatusRequests::SnapshotPointer> told;
  std::thread::id thread;
};

struct Reader final : FeedReader {
  void on_news() override {
    thread = std::this_thread::get_id();
    ++news;
  }
  void on_closed() override { closed = true; }
  std::thread::id thread;
  std::atomic<unsigned> news = 0;
  std::atomic<bool> closed = false;
};

// Returns the ids of this process's threads.
std::set<std::string> threads() {
  std::set<std::string> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    found.insert(thread.path().filename());
  return found;
}

}  // namespace

TEST_CASE("the thread that makes texts exists before the first request") {
  const Asked first;  // a sanitizer starts threads with the process's first one
  const std::set<std::string> before = threads();
  const Asked asked;
  std::set<std::string> added = threads();
  for (const std::string& thread : before) added.erase(thread);
  CHECK(added.size() == 1);
}

TEST_CASE("a request for the status is answered with the daemon's snapshot") {
  Answers answers;
  Asked asked;
  asked.requests->query_status(WithHolders::kYes, answers.keep());
  CHECK(asked.status.empty());  // the daemon is queried in the loop
  test::run_once(asked.loop);
  REQUIRE(asked.status.size() == 1);
  CHECK(answers.count() == 0);
  asked.answer(0, {.version = "1.2"});
  REQUIRE(asked.eventually([&] { return answers.count() == 1; }));
  CHECK(answers.told[0]->status().version == "1.2");
}

TEST_CASE("answers and notifications come from a thread other than the loop's") {
  Answers answers;
  const auto reader = std::make_shared<Reader>();
  Asked asked;
  asked.requests->query_status(WithHolders::kYes, answers.keep());
  asked.requests->readers().subscribe(reader);
  asked.requests->watch();
  REQUIRE(asked.eventually([&] { return !asked.status.empty(); }));
  asked.answer(0);
  REQUIRE(asked.eventually([&] { return asked.status.size() == 2 || reader->news == 1; }));
  if (asked.status.size() == 2) asked.answer(1);
  REQUIRE(asked.eventually([&] { return answers.count() == 1 && reader->news == 1; }));
  CHECK(answers.thread != std::this_thread::get_id());
  CHECK(reader->thread != std::this_thread::get_id());
}

TEST_CASE("requests while a snapshot is made share it, and the next request gets a new snapshot") {
  Answers answers;
  Asked asked;
  for (int i = 0; i < 300; ++i) asked.requests->query_status(WithHolders::kYes, answers.keep());
  test::run_once(asked.loop);
  REQUIRE(asked.status.size() == 1);
  asked.answer(0);
  REQUIRE(asked.eventually([&] { return answers.count() == 300; }));
  CHECK(answers.told.front() == answers.told.back());
  CHECK(&answers.told.front()->json() == &answers.told.back()->json());
  asked.requests->query_status(WithHolders::kYes, answers.keep());
  test::run_once(asked.loop);
  CHECK(asked.status.size() == 2);
}

TEST_CASE(
    "a request without holders is answered while others wait for holders, and shares no snapshot with them") {
  Answers waits;
  Answers soon;
  Answers none;
  Asked asked;
  asked.requests->query_status(WithHolders::kYes, waits.keep());
  asked.requests->query_status(WithHolders::kIfToldSoon, soon.keep());
  asked.requests->query_status(WithHolders::kNo, none.keep());
  test::run_once(asked.loop);
  REQUIRE(asked.asked_with == std::vector{WithHolders::kYes, WithHolders::kIfToldSoon, WithHolders::kNo});
  asked.answer(2);
  asked.answer(1, {.version = "1.2"});
  REQUIRE(asked.eventually([&] { return none.count() == 1 && soon.count() == 1; }));
  CHECK(soon.told[0]->status().version == "1.2");
  CHECK(waits.count() == 0);
  asked.answer(0);
  CHECK(asked.eventually([&] { return waits.count() == 1; }));
}

TEST_CASE("a request from within an answer gets a new snapshot") {
  Asked asked;
  asked.requests->query_status(WithHolders::kYes, [&](const auto&) {
    asked.requests->query_status(WithHolders::kYes, [](const auto&) {});
  });
  test::run_once(asked.loop);
  asked.answer(0);
  CHECK(asked.eventually([&] { return asked.status.size() == 2; }));
}

TEST_CASE("a reload is requested in the loop, with its order, and answered") {
  Asked asked;
  std::size_t unchanged = 0;
  const ReloadOrder order{.level = LogLevel::kDebug, .confirm = std::chrono::seconds(7)};
  asked.requests->request_reload(order,
                                 [&](const ReloadAnswer& answer) { unchanged = answer.changes.unchanged; });
  CHECK(asked.reloads.empty());
  test::run_once(asked.loop);
  REQUIRE(asked.reloads.size() == 1);
  CHECK(asked.orders[0] == order);
  asked.reloads[0]({.changes = {.unchanged = 3}});
  CHECK(unchanged == 3);
}

TEST_CASE("a confirmation is requested in the loop, and answered") {
  Asked asked;
  std::string told;
  asked.requests->request_confirm([&](const std::string& error) { told = error; });
  CHECK(asked.keeps.empty());
  test::run_once(asked.loop);
  REQUIRE(asked.keeps.size() == 1);
  asked.keeps[0]("no");
  CHECK(told == "no");
}

TEST_CASE("a new watcher gets a snapshot, and a change without watchers leads to none") {
  Asked asked;
  const auto reader = std::make_shared<Reader>();
  asked.requests->changed();
  test::run_once(asked.loop);
  CHECK(asked.status.empty());  // no watcher exists
  CHECK(asked.requests->newest().snapshot == nullptr);

  asked.requests->readers().subscribe(reader);
  asked.requests->watch();
  REQUIRE(test::run_until(asked.loop, [&] { return asked.status.size() == 1; }));
  asked.answer(0, {.version = "first"});
  REQUIRE(asked.eventually([&] { return reader->news == 1; }));
  CHECK(asked.requests->newest().number == 1);
  CHECK(asked.requests->newest().snapshot->status().version == "first");

  asked.requests->watch();
  REQUIRE(test::run_until(asked.loop, [&] { return asked.status.size() == 2; }));
  asked.answer(1, {.version = "second"});
  REQUIRE(asked.eventually([&] { return reader->news == 2; }));
  CHECK(asked.requests->newest().number == 2);
  CHECK(asked.requests->newest().snapshot->status().version == "second");
}

TEST_CASE("after close(), watchers end, and no request is answered") {
  Asked asked;
  const auto reader = std::make_shared<Reader>();
  const auto of_events = std::make_shared<Reader>();
  asked.requests->readers().subscribe(reader);
  asked.history.readers().subscribe(of_events);
  std::atomic<unsigned> answers = 0;
  asked.requests->query_status(WithHolders::kYes, [&](const auto&) { ++answers; });
  test::run_once(asked.loop);
  asked.requests->close();
  CHECK(reader->closed);
  CHECK(of_events->closed);
  asked.answer(0);
  asked.requests->query_status(WithHolders::kYes, [&](const auto&) { ++answers; });
  asked.requests->request_reload({}, [&](const auto&) { ++answers; });
  test::run_once(asked.loop);
  CHECK(answers == 0);
  CHECK(asked.status.size() == 1);
  CHECK(asked.reloads.empty());
}

TEST_CASE("a request of an instance that has been destroyed is dropped") {
  Asked asked;
  asked.requests->query_status(WithHolders::kYes, [](const auto&) {});
  asked.requests.reset();
  test::run_once(asked.loop);
  CHECK(asked.status.empty());
}

TEST_CASE("the JSON of a reload's answer has the errors, the warnings, the changes and the end of a trial") {
  const ReloadAnswer answer{
      .errors = {"e"},
      .warnings = {"w"},
      .changes = {.added = {"a"}, .changed = {"c"}, .removed = {"r"}, .unchanged = 4, .kubelet = true}};
  CHECK(
      answer.json().dump() ==
      R"({"errors":["e"],"warnings":["w"],"added":["a"],"changed":["c"],"removed":["r"],"unchanged":4,"kubeletChanged":true,"trialUntil":null})");
  CHECK(ReloadAnswer{.trial_until = WallTime(std::chrono::seconds(1))}.json()["trialUntil"].text() ==
        "1970-01-01T00:00:01.000000Z");
}
