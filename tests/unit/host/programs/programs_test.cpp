#include "host/programs/programs.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <string>
#include <thread>

#include "host/programs/subprocess.hpp"
#include "unit/is_gone.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"
#include "unit/trapping.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using Clock = EventLoop::Clock;

namespace {

// Returns the number of zombie processes whose parent is this process.
std::size_t zombies() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    const std::string rest = text.substr(text.rfind(')') + 2);  // "Z 1234 …": the state and the parent
    count += rest.starts_with("Z " + std::to_string(::getpid()) + ' ') ? 1u : 0u;
  }
  return count;
}

struct Many {
  EventLoop loop;
  Programs programs{loop};
  std::list<ProgramQueue> queues;
  std::list<Subprocess> running;
  std::size_t ended = 0;

  void run(Purpose purpose, const std::string& script, std::size_t count) {
    ProgramQueue& queue = queues.emplace_back(programs, purpose);
    for (std::size_t i = 0; i < count; ++i)
      running.emplace_back(queue, Program{.command = {"/bin/sh", "-c", script}},
                           [this](const Ending&) { ++ended; });
  }
};

}  // namespace

TEST_CASE("however many programs wait, a limited number runs at once") {
  const test::TempDir dir;
  const std::string at = dir.path().string();
  Many many;
  many.run(Purpose::kPreStart,
           "touch " + at + "/run-$$; ls " + at + " | grep -c run- >> " + at + "/counts; sleep 0.02; rm " +
               at + "/run-$$",
           100);
  REQUIRE(test::run_until(
      many.loop, [&] { return many.ended == 100; }, 60s));
  std::ifstream counts(dir.at("counts"));
  std::size_t lines = 0;
  std::size_t most = 0;
  for (std::size_t count = 0; counts >> count; ++lines) most = std::max(most, count);
  CHECK(lines == 100);
  CHECK(most <= Turns::kAtOnce);
}

TEST_CASE("a health check runs although programs of a different purpose hang and use all their places") {
  Many many;
  many.run(Purpose::kPreStart, "exec sleep 1000", 100);
  many.run(Purpose::kHealth, "exit 0", 8);
  CHECK(test::run_until(many.loop, [&] { return many.ended == 8; }));
}

TEST_CASE("the loop continues while thousands of programs start and end") {
  Many many;
  many.run(Purpose::kPreStart, "exit 0", 1500);
  auto last = Clock::now();
  auto longest = Clock::duration::zero();
  Timer tick(many.loop, [&] {
    longest = std::max(longest, Clock::now() - last);
    last = Clock::now();
    tick.arm(1ms);
  });
  tick.arm(1ms);
  REQUIRE(test::run_until(
      many.loop, [&] { return many.ended == 1500; }, 120s));
  CHECK(longest < 500ms);
}

TEST_CASE("every killed program is reaped, and no caller waits for its end") {
  const std::size_t before = zombies();  // left by earlier tests
  Many many;
  // The end of each program takes a while, because the kernel frees its memory.
  many.run(Purpose::kPreStart, "head -c 50000000 /dev/zero | tail -c 50000000 >/dev/null & exec sleep 1000",
           20);
  REQUIRE(test::run_until(many.loop, [&] {
    return std::ranges::all_of(many.running, [](const Subprocess& each) { return each.begun(); });
  }));
  test::run_until(
      many.loop, [] { return false; }, 200ms);
  const auto begun = Clock::now();
  many.running.clear();
  CHECK(Clock::now() - begun < 500ms);
  CHECK(test::run_until(many.loop, [&] { return zombies() <= before; }));
}

TEST_CASE("a running program is killed and reaped before Programs is destroyed") {
  pid_t pid = 0;
  {
    Many many;
    ProgramQueue& queue = many.queues.emplace_back(many.programs, Purpose::kHealth);
    Program program{.command = {"/bin/sh", "-c", "echo $$; exec sleep 1000"}};
    program.on_line = [&](std::string_view line) { pid = std::stoi(std::string(line)); };
    many.running.emplace_back(queue, std::move(program), [](const Ending&) {});
    REQUIRE(test::run_until(many.loop, [&] { return pid != 0; }));
    many.running.clear();
  }
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("when Programs is destroyed, a program may clean up, and is killed after the grace period") {
  const test::TempDir dir;
  const std::string at = dir.path().string();
  pid_t stubborn = 0;
  Clock::time_point begun;
  {
    Many many;
    // The programs report on standard output that they run, so that the loop knows it, too. A file would show
    // it only to the test.
    bool ready = false;
    const auto run = [&](const std::string& script,
                         const std::function<void(std::string_view line)>& on_line) {
      ProgramQueue& queue = many.queues.emplace_back(many.programs, Purpose::kStay);
      Program program{.command = {"/bin/sh", "-c", "cd " + at + "; " + script}};
      program.on_line = on_line;
      many.running.emplace_back(queue, std::move(program), [](const Ending&) {});
    };
    run(test::trapping(": > cleared", "echo ready"), [&](std::string_view) { ready = true; });
    run("trap '' TERM; echo $$; while :; do sleep 0.05; done",
        [&](std::string_view line) { stubborn = std::stoi(std::string(line)); });
    REQUIRE(test::run_until(many.loop, [&] { return ready && stubborn != 0; }));
    many.running.clear();
    begun = Clock::now();
  }
  CHECK(std::filesystem::exists(dir.at("cleared")));
  CHECK(Clock::now() - begun >= Programs::kGrace - 50ms);
  CHECK(Clock::now() - begun < Programs::kGrace + Programs::kLast + 1s);
  CHECK(::kill(stubborn, 0) != 0);
}

TEST_CASE(
    "the destruction of Programs ends as soon as the programs have ended, before the grace period is over") {
  const test::TempDir dir;
  Clock::time_point begun;
  {
    Many many;
    many.run(Purpose::kStay, ": > " + dir.path().string() + "/runs-$$; exec sleep 1000", 3);
    REQUIRE(test::run_until(
        many.loop, [&] { return std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 3; }));
    many.running.clear();
    begun = Clock::now();
  }
  CHECK(Clock::now() - begun < 500ms);
}

TEST_CASE("the destruction of Programs also ends a program whose start the loop has not seen yet") {
  const test::TempDir dir;
  const std::string at = dir.path().string();
  pid_t pid = 0;
  {
    Many many;
    many.run(Purpose::kStay, "cd " + at + "; echo $$ > half; mv half pid; exec sleep 1000", 1);
    // run_once hands the start to a thread; the loop does not run after that.
    while (!many.running.front().begun()) test::run_once(many.loop);
    while (!std::filesystem::exists(dir.at("pid"))) std::this_thread::yield();
    std::ifstream(dir.at("pid")) >> pid;
    many.running.clear();
  }
  REQUIRE(pid > 0);
  // The thread that started the program also kills it, and Programs does not wait for this thread.
  const auto end = Clock::now() + 30s;
  while (!test::is_gone(pid) && Clock::now() < end) std::this_thread::yield();
  CHECK(test::is_gone(pid));
}
