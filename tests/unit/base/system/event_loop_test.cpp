#include "base/system/event_loop.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "pipe2");
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

}  // namespace

TEST_CASE("tasks that other threads post run in the loop, in their order") {
  EventLoop loop;
  std::vector<int> seen;
  std::thread other([post = loop.poster(), &seen] {
    for (int i = 0; i < 1000; ++i) post([&seen, i] { seen.push_back(i); });
  });
  CHECK(test::run_until(loop, [&] { return seen.size() == 1000; }));
  other.join();
  CHECK(std::ranges::is_sorted(seen));
}

TEST_CASE("a task posted after the loop is gone is dropped") {
  std::optional<EventLoop> loop(std::in_place);
  const EventLoop::Poster post = loop->poster();
  loop.reset();
  bool ran = false;
  post([&] { ran = true; });
  CHECK_FALSE(ran);
}

TEST_CASE("timers fire in the order of their times, and a cancelled one does not") {
  EventLoop loop;
  std::vector<int> fired;
  Timer late(loop, [&] { fired.push_back(2); });
  Timer early(loop, [&] { fired.push_back(1); });
  Timer cancelled(loop, [&] { fired.push_back(3); });
  late.arm(10ms);
  early.arm(1ms);
  cancelled.arm(5ms);
  cancelled.cancel();
  CHECK(test::run_until(loop, [&] { return fired.size() >= 2; }));
  CHECK(fired == std::vector{1, 2});
}

TEST_CASE("a callback may destroy a different watch, even if that watch's event has already been fetched") {
  EventLoop loop;
  Pipe one;
  Pipe two;
  int calls = 0;
  std::optional<IoWatch> first;
  std::optional<IoWatch> second;
  first.emplace(loop, one.read.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    first.reset();
    second.reset();
  });
  second.emplace(loop, two.read.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    second.reset();
    first.reset();
  });
  REQUIRE(::write(one.write.get(), "x", 1) == 1);
  REQUIRE(::write(two.write.get(), "x", 1) == 1);
  test::run_once(loop);
  CHECK(calls == 1);
}

TEST_CASE("a timer's callback may destroy its timer") {
  EventLoop loop;
  bool fired = false;
  auto timer = std::make_unique<Timer>(loop, [&] {});
  timer = std::make_unique<Timer>(loop, [&] {
    timer.reset();
    fired = true;
  });
  timer->arm(0ms);
  CHECK(test::run_until(loop, [&] { return fired; }));
}
