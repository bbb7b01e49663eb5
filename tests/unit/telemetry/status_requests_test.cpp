#include "telemetry/status_requests.hpp"

#include <doctest/doctest.h>

#include "unit/run_until.hpp"

using namespace plughost;

namespace {

// A daemon that answers when it is told to.
struct Asked {
  EventLoop loop;
  LogHistory history;
  std::vector<std::function<void(DaemonStatus)>> status;
  std::vector<std::optional<LogLevel>> levels;
  std::vector<StatusRequests::ReloadDone> reloads;
  std::unique_ptr<StatusRequests> requests = std::make_unique<StatusRequests>(
      loop, history,
      StatusRequests::Daemon{.status = [this](auto done) { status.push_back(std::move(done)); },
                             .reload =
                                 [this](std::optional<LogLevel> level, auto done) {
                                   levels.push_back(level);
                                   reloads.push_back(std::move(done));
                                 }});

  void answer(std::size_t question, DaemonStatus what = {}) { status.at(question)(std::move(what)); }
};

struct Reader final : FeedReader {
  void on_news() override { ++news; }
  void on_closed() override { closed = true; }
  unsigned news = 0;
  bool closed = false;
};

}  // namespace

TEST_CASE("who asks for the status is answered with what the daemon says") {
  Asked asked;
  std::string version;
  asked.requests->ask_status([&](const auto& snapshot) { version = snapshot->status().version; });
  CHECK(asked.status.empty());  // the daemon is asked in the loop
  test::run_once(asked.loop);
  REQUIRE(asked.status.size() == 1);
  CHECK(version.empty());
  asked.answer(0, {.version = "1.2"});
  CHECK(version == "1.2");
}

TEST_CASE("those who ask while a snapshot is being made share it, and the next one gets a new one") {
  Asked asked;
  std::vector<StatusRequests::SnapshotPointer> told;
  const auto keep = [&](const auto& snapshot) { told.push_back(snapshot); };
  for (int i = 0; i < 300; ++i) asked.requests->ask_status(keep);
  test::run_once(asked.loop);
  REQUIRE(asked.status.size() == 1);
  asked.answer(0);
  REQUIRE(told.size() == 300);
  CHECK(told.front() == told.back());
  CHECK(&told.front()->json() == &told.back()->json());
  asked.requests->ask_status(keep);
  test::run_once(asked.loop);
  CHECK(asked.status.size() == 2);
}

TEST_CASE("who asks from within an answer asks anew") {
  Asked asked;
  asked.requests->ask_status([&](const auto&) { asked.requests->ask_status([](const auto&) {}); });
  test::run_once(asked.loop);
  asked.answer(0);
  test::run_once(asked.loop);
  CHECK(asked.status.size() == 2);
}

TEST_CASE("a reload is asked for in the loop, with its level, and answered") {
  Asked asked;
  std::size_t unchanged = 0;
  asked.requests->ask_reload(LogLevel::kDebug,
                             [&](const ReloadAnswer& answer) { unchanged = answer.changes.unchanged; });
  CHECK(asked.reloads.empty());
  test::run_once(asked.loop);
  REQUIRE(asked.reloads.size() == 1);
  CHECK(asked.levels[0] == LogLevel::kDebug);
  asked.reloads[0]({.changes = {.unchanged = 3}});
  CHECK(unchanged == 3);
}

TEST_CASE("who watches hears of a first snapshot, and only of news after it") {
  Asked asked;
  const auto reader = std::make_shared<Reader>();
  asked.requests->changed();
  test::run_once(asked.loop);
  CHECK(asked.status.empty());  // nobody watches
  CHECK(asked.requests->newest().snapshot == nullptr);

  asked.requests->readers().subscribe(reader);
  asked.requests->watch();
  REQUIRE(test::run_until(asked.loop, [&] { return asked.status.size() == 1; }));
  asked.answer(0, {.version = "first"});
  CHECK(reader->news == 1);
  CHECK(asked.requests->newest().number == 1);
  CHECK(asked.requests->newest().snapshot->status().version == "first");

  asked.requests->watch();
  REQUIRE(test::run_until(asked.loop, [&] { return asked.status.size() == 2; }));
  asked.answer(1, {.version = "second"});
  CHECK(reader->news == 2);
  CHECK(asked.requests->newest().number == 2);
  CHECK(asked.requests->newest().snapshot->status().version == "second");
}

TEST_CASE("once it is closed, watchers end, and nobody is answered") {
  Asked asked;
  const auto reader = std::make_shared<Reader>();
  const auto of_events = std::make_shared<Reader>();
  asked.requests->readers().subscribe(reader);
  asked.history.readers().subscribe(of_events);
  unsigned answers = 0;
  asked.requests->ask_status([&](const auto&) { ++answers; });
  test::run_once(asked.loop);
  asked.requests->close();
  CHECK(reader->closed);
  CHECK(of_events->closed);
  asked.answer(0);
  asked.requests->ask_status([&](const auto&) { ++answers; });
  asked.requests->ask_reload(std::nullopt, [&](const auto&) { ++answers; });
  test::run_once(asked.loop);
  CHECK(answers == 0);
  CHECK(asked.status.size() == 1);
  CHECK(asked.reloads.empty());
}

TEST_CASE("what is posted to one that is gone is dropped") {
  Asked asked;
  asked.requests->ask_status([](const auto&) {});
  asked.requests.reset();
  test::run_once(asked.loop);
  CHECK(asked.status.empty());
}

TEST_CASE("a reload's answer is told in the words of the configuration") {
  const ReloadAnswer answer{
      .errors = {"e"},
      .warnings = {"w"},
      .changes = {.added = {"a"}, .changed = {"c"}, .removed = {"r"}, .unchanged = 4, .kubelet = true}};
  CHECK(
      answer.json().dump() ==
      R"({"errors":["e"],"warnings":["w"],"added":["a"],"changed":["c"],"removed":["r"],"unchanged":4,"kubeletChanged":true})");
}
