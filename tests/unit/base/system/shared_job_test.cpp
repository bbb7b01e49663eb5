#include "base/system/shared_job.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::run_until;

namespace {

struct JobOfTest {
  EventLoop loop;
  // Declared before `workers`, because jobs use these members until the workers have ended.
  std::atomic<int> begun = 0;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::vector<std::string> errors;
  int value = 0;
  std::function<void()> next;  // called when a value is delivered
  Workers workers{loop, 2};
  SharedJob<int> job{workers, 50ms};

  void run(const std::string& result = "") {
    job.run(
        [this, result]() -> SharedJob<int>::Result {
          const int number = ++begun;
          released.wait();
          if (result.empty()) return number;
          return result;
        },
        [this](int number) {
          value = number;
          if (const auto run_next = std::exchange(next, nullptr)) run_next();
        },
        "it stalls", [this](const std::string& error) { errors.push_back(error); });
  }
};

}  // namespace

TEST_CASE("callers during a running job share its result, and a later caller starts a new job") {
  JobOfTest test;
  test.release.set_value();
  test.run("failed");
  test.run("not run");
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 2; }));
  CHECK(test.errors == std::vector<std::string>{"failed", "failed"});
  test.run();
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 3; }));
  CHECK(test.errors.back().empty());
  CHECK(test.value == 2);
}

TEST_CASE(
    "while a job stalls, later callers get the error at once, and after its end a caller starts a new job") {
  JobOfTest test;
  test.run();
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 1; }));
  test.run();
  CHECK(test.errors == std::vector<std::string>{"it stalls", "it stalls"});
  CHECK(test.begun == 1);
  test.release.set_value();
  REQUIRE(run_until(test.loop, [&] {
    if (test.begun == 1) test.run();
    return test.begun == 2 && test.errors.back().empty();
  }));
  CHECK(test.value == 2);
}

TEST_CASE("abandon() ends a job's callers with an error, and the job's result is ignored") {
  JobOfTest test;
  test.run("late");
  REQUIRE(run_until(test.loop, [&] { return test.begun == 1; }));
  test.job.abandon("no longer needed");
  test.release.set_value();
  test.run();
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 2; }));
  CHECK(test.errors == std::vector<std::string>{"no longer needed", ""});
}

TEST_CASE("the value of a stalled job is delivered after all, and its callback may start a new job") {
  JobOfTest test;
  test.run();
  REQUIRE(run_until(test.loop, [&] { return test.errors == std::vector<std::string>{"it stalls"}; }));
  test.next = [&] { test.run(); };
  test.release.set_value();
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 2; }));
  CHECK(test.errors.back().empty());
  CHECK(test.begun == 2);
  CHECK(test.value == 2);
}
