#include "base/system/workers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const auto kNothing = [] {};

}  // namespace

TEST_CASE("a job runs on another thread, and its end is reported in the loop") {
  EventLoop loop;
  Workers workers(loop, 2);
  std::thread::id where;
  std::thread::id told;
  workers.run([&] { where = std::this_thread::get_id(); }, [&] { told = std::this_thread::get_id(); }, 10s,
              kNothing);
  CHECK(test::run_until(loop, [&] { return told != std::thread::id(); }));
  CHECK(told == std::this_thread::get_id());
  CHECK(where != told);
}

TEST_CASE(
    "a job that exceeds its deadline is reported, a new thread runs the next job, and the late job may still "
    "end") {
  EventLoop loop;
  Workers workers(loop, 1);
  std::promise<void> driver;
  bool overdue = false;
  bool wedged_done = false;
  bool other_done = false;
  workers.run([answer = driver.get_future().share()] { answer.wait(); }, [&] { wedged_done = true; }, 10ms,
              [&] { overdue = true; });
  workers.run(
      kNothing, [&] { other_done = true; }, 10s, kNothing);
  CHECK(test::run_until(loop, [&] { return overdue && other_done; }));
  CHECK_FALSE(wedged_done);
  driver.set_value();
  CHECK(test::run_until(loop, [&] { return wedged_done; }));
}

TEST_CASE("no more jobs run at once than there are threads, and all run in the end") {
  EventLoop loop;
  Workers workers(loop, 3);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    workers.run(
        [&] {
          most = std::max(most.load(), ++running);
          std::this_thread::yield();
          --running;
        },
        [&] { ++done; }, 10s, kNothing);
  }
  CHECK(test::run_until(loop, [&] { return done == 100; }));
  CHECK(most <= 3);
}

TEST_CASE("the end of the pool does not wait for a wedged job") {
  EventLoop loop;
  std::promise<void> driver;
  std::optional<Workers> workers(std::in_place, loop, 1);
  bool overdue = false;
  workers->run([answer = driver.get_future().share()] { answer.wait(); }, kNothing, 1ms,
               [&] { overdue = true; });
  CHECK(test::run_until(loop, [&] { return overdue; }));
  workers.reset();  // must not block
  driver.set_value();
}
