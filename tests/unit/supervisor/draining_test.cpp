#include "supervisor/draining.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const Drains::Name kDevice{.resource = "x.com/a", .device = "0"};

// A daemon's start with what an earlier one has left.
struct Started {
  explicit Started(const TempDir& tree)
      : draining(loop, workers, log, DrainFile(tree.path()), [this] { ++changes; }) {}

  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 1};
  int changes = 0;
  Draining draining;

  void drain(std::optional<std::chrono::milliseconds> duration) {
    const auto now = Drain::Clock::now();
    Drain drain{.reason = "the fan", .since = now};
    if (duration) drain.until = now + *duration;
    bool saved = false;
    draining.drain(kDevice, drain, [&](const std::string& trouble) {
      CHECK(trouble == "");
      saved = true;
    });
    REQUIRE(run_until(loop, [&] { return saved; }));
  }
};

Drains written(const TempDir& tree) {
  return DrainFile(tree.path()).read().drains;
}

}  // namespace

TEST_CASE("a drain outlives the daemon, and undrain does") {
  const TempDir tree;
  {
    Started first(tree);
    first.drain(std::nullopt);
    CHECK(first.changes == 1);
  }
  {
    Started second(tree);
    CHECK(second.draining.drains().find(kDevice));
    CHECK(second.changes == 0);
    bool saved = false;
    second.draining.undrain(kDevice, [&](const std::string&) { saved = true; });
    CHECK_FALSE(second.draining.drains().find(kDevice));
    CHECK(second.changes == 1);
    REQUIRE(run_until(second.loop, [&] { return saved; }));
  }
  const Started third(tree);
  CHECK_FALSE(third.draining.drains().find(kDevice));
}

TEST_CASE("a drain ends by itself when its time is over, and is written down as ended") {
  const TempDir tree;
  Started daemon(tree);
  daemon.drain(200ms);
  CHECK(daemon.draining.drains().find(kDevice));
  REQUIRE(run_until(daemon.loop, [&] { return !daemon.draining.drains().find(kDevice); }));
  CHECK(daemon.changes == 2);
  CHECK(run_until(daemon.loop, [&] { return written(tree).count() == 0; }));
}

TEST_CASE("a second drain's time counts, not the first one's") {
  const TempDir tree;
  Started daemon(tree);
  daemon.drain(std::nullopt);
  daemon.drain(100ms);
  CHECK(run_until(daemon.loop, [&] { return !daemon.draining.drains().find(kDevice); }));
}

TEST_CASE("a drain whose time was over while nobody ran is none, from the start") {
  const TempDir tree;
  Drains drains;
  drains.set(kDevice, {.reason = "", .since = Drain::Clock::now() - 2h, .until = Drain::Clock::now() - 1h});
  REQUIRE(DrainFile(tree.path()).write(drains.text()) == "");
  Started daemon(tree);
  CHECK(daemon.draining.drains() == Drains());
  CHECK(daemon.changes == 0);
  CHECK(run_until(daemon.loop, [&] { return written(tree).count() == 0; }));
}

TEST_CASE("what was understood of a broken file is drained, and written down anew") {
  const TempDir tree;
  Drains drains;
  drains.set(kDevice, {.reason = "the fan", .since = Drain::Clock::time_point(1h)});
  std::string text = drains.text();
  text.insert(text.rfind(']'), ", {}");
  tree.file("drains.json", text);
  Started daemon(tree);
  CHECK(daemon.draining.drains() == drains);
  CHECK(daemon.log.errors().count() == 1);
  CHECK(std::filesystem::exists(tree.at("drains.json.broken")));
  CHECK(run_until(daemon.loop, [&] { return written(tree) == drains; }));
}
