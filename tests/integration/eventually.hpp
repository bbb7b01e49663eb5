#pragma once
// Waiting for conditions. Thread-safe.

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/system/event_loop.hpp"

namespace plughost::test {

// Or emulated, which takes as long.
#if defined(PLUGHOST_SANITIZED) || defined(PLUGHOST_EMULATED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Long enough for anything that is to happen at all.
inline constexpr std::chrono::milliseconds kLong = std::chrono::seconds(kSanitized ? 60 : 20);
// For what must not happen: it would, within this.
inline constexpr std::chrono::milliseconds kWatched{1000};

// A time that the conformance list grants on an idle machine: three times as long on a machine that others
// use, and no limit to speak of under a sanitizer.
constexpr std::chrono::milliseconds limit(std::chrono::milliseconds stated) {
  return kSanitized ? kLong : stated * 3;
}

// Looks at the condition until it holds. False: it did not within the deadline.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds deadline = kLong) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

// Does something so many times, evenly spread over a period.
template <typename Action>
void paced(int times, std::chrono::milliseconds period, Action action) {
  EventLoop loop;
  const auto start = EventLoop::Clock::now();
  int done = 0;
  Timer timer(loop, [&] {
    action(done);
    if (++done == times) return loop.stop();
    timer.arm_at(start + period * done / times);
  });
  timer.arm(std::chrono::milliseconds(0));
  loop.run();
}

}  // namespace plughost::test
