#include "kubernetes/apiserver/shared_job.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/leased_program.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::run_until;

namespace {

struct JobOfTest {
  EventLoop loop;
  // The workers come after what a body uses, and so end before it.
  std::atomic<int> begun = 0;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::vector<std::string> errors;
  int value = 0;
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
        [this](int number) { value = number; }, "it stalls",
        [this](const std::string& error) { errors.push_back(error); });
  }
};

}  // namespace

TEST_CASE("callers of a job that runs wait for the same result, and the next one starts it again") {
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

TEST_CASE("a job that stalls is reported to later callers at once, until it ends") {
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

TEST_CASE("an abandoned job ends its callers, and its result is ignored") {
  JobOfTest test;
  test.run("late");
  REQUIRE(run_until(test.loop, [&] { return test.begun == 1; }));
  test.job.abandon("no longer needed");
  test.release.set_value();
  test.run();
  REQUIRE(run_until(test.loop, [&] { return test.errors.size() == 2; }));
  CHECK(test.errors == std::vector<std::string>{"no longer needed", ""});
}

TEST_CASE("while opening libcurl stalls, requests end with the reason, and afterwards libcurl is opened") {
  test::ClientOfTest test;
  test::LeasedProgram stalled(test.directory.at("libcurl.so.4"));
  test.options.library = stalled.path();
  test.options.file_deadline = 50ms;
  test.start();
  for (int i = 0; i < 2; ++i)
    CHECK(test::says(
        test.get("/").error,
        "opening libcurl takes longer than 50 ms: the file system that it lies on does not answer"));
  stalled.give_back();
  const auto end = EventLoop::Clock::now() + 10s;
  // The file is a shell script, which the loader refuses.
  while (!test::says(test.get("/").error, "cannot be opened: " + stalled.path()))
    REQUIRE(EventLoop::Clock::now() < end);
}
