// Tests programs on a file system that does not respond.

#include <doctest/doctest.h>

#include <list>
#include <optional>

#include "host/programs/subprocess.hpp"
#include "unit/leased_program.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using How = Ending::How;
using Clock = EventLoop::Clock;

namespace {

struct Hung {
  test::TempDir dir;
  test::LeasedProgram leased{dir.at("program")};
  EventLoop loop;
  Programs programs{loop};
  ProgramQueue queue{programs, Purpose::kHealth};
  std::list<Subprocess> hung;
  unsigned overdue = 0;
  unsigned gone = 0;

  void start(std::chrono::milliseconds timeout) {
    hung.emplace_back(
        queue, Program{.command = {leased.path()}, .timeout = timeout},
        [this](const Ending& ending) { overdue += ending.how == How::kOverdue ? 1 : 0; }, [this] { ++gone; });
  }
  // Runs a different program, and returns how long this takes.
  Clock::duration other() {
    const auto begun = Clock::now();
    std::optional<Ending> ended;
    const Subprocess process(queue, Program{.command = {"/bin/true"}},
                             [&](Ending ending) { ended = std::move(ending); });
    REQUIRE(test::run_until(loop, [&] { return ended.has_value(); }));
    CHECK(ended->how == How::kExited);
    return Clock::now() - begun;
  }
};

}  // namespace

TEST_CASE("a program whose start hangs delays neither the loop nor, after a short time, other programs") {
  Hung file;
  for (int i = 0; i < 4; ++i) file.start(1min);
  auto last = Clock::now();
  auto longest = Clock::duration::zero();
  Timer tick(file.loop, [&] {
    longest = std::max(longest, Clock::now() - last);
    last = Clock::now();
    tick.arm(1ms);
  });
  tick.arm(1ms);
  // The first program waits until the hanging threads have been replaced; the next one does not wait.
  CHECK(file.other() < 5s);
  CHECK(file.other() < 1s);
  CHECK(longest < 500ms);
  CHECK(file.overdue == 0);
}

TEST_CASE("a start that hangs is abandoned at the program's time-out, and killed if possible") {
  Hung file;
  const auto begun = Clock::now();
  file.start(300ms);
  REQUIRE(test::run_until(file.loop, [&] { return file.overdue == 1; }));
  CHECK(Clock::now() - begun >= 300ms);
  CHECK(test::run_until(file.loop, [&] { return file.gone == 1; }));
}

TEST_CASE("an abandoned start that hangs is killed later, and its thread is freed") {
  Hung file;
  file.start(1min);
  REQUIRE(test::run_until(file.loop, [&] { return file.hung.front().begun(); }));
  file.other();  // meanwhile the start is found to hang
  file.hung.clear();
  for (int i = 0; i < 8; ++i) {
    file.start(1min);
    REQUIRE(test::run_until(file.loop, [&] { return file.hung.front().begun(); }));
    file.hung.clear();
  }
  CHECK(file.other() < 5s);
  CHECK(file.gone == 0);
}

TEST_CASE("a program whose start hangs runs when its file system responds") {
  Hung file;
  std::optional<Ending> ended;
  const Subprocess process(file.queue, Program{.command = {file.leased.path()}, .timeout = 1min},
                           [&](Ending ending) { ended = std::move(ending); });
  REQUIRE_FALSE(test::run_until(
      file.loop, [&] { return ended.has_value(); }, 100ms));
  file.leased.give_back();
  REQUIRE(test::run_until(file.loop, [&] { return ended.has_value(); }));
  CHECK(ended->how == How::kExited);
  CHECK(ended->number == 0);
}
