#pragma once
// Functions that wait for conditions. Thread-safe.

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/system/event_loop.hpp"

namespace plughost::test {

// Emulation is as slow as a sanitizer.
#if defined(PLUGHOST_SANITIZED) || defined(PLUGHOST_EMULATED)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Limit for everything that must happen.
inline constexpr std::chrono::milliseconds kLong = std::chrono::seconds(kSanitized ? 60 : 20);
// The time for which a test waits for something that must not happen.
inline constexpr std::chrono::milliseconds kWatched{1000};

// A limit of the conformance list for an idle machine: three times as long on a shared machine, and
// practically none under a sanitizer.
constexpr std::chrono::milliseconds limit(std::chrono::milliseconds stated) {
  return kSanitized ? kLong : stated * 3;
}

// Checks the condition until it holds or the deadline has passed. Returns true if the condition holds.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds deadline = kLong) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

// Repeats an action at regular intervals over a period.
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
