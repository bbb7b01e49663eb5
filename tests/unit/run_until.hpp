#pragma once

#include <chrono>
#include <functional>

#include "base/system/event_loop.hpp"

namespace plughost::test {

// Runs the loop until the condition holds or the deadline has passed. Returns true if the condition holds.
inline bool run_until(EventLoop& loop, const std::function<bool()>& condition,
                      std::chrono::milliseconds deadline = std::chrono::seconds(10)) {
  const auto end = EventLoop::Clock::now() + deadline;
  bool holds = condition();
  Timer look(loop, [&] {
    holds = condition();
    if (holds || EventLoop::Clock::now() >= end)
      loop.stop();
    else
      look.arm(std::chrono::milliseconds(1));
  });
  if (!holds) {
    look.arm(std::chrono::milliseconds(0));
    loop.run();
  }
  return holds;
}

// Runs the loop until everything that is posted or ready now has been handled.
inline void run_once(EventLoop& loop) {
  Timer end(loop, [&] { loop.stop(); });
  end.arm(std::chrono::milliseconds(0));
  loop.run();
}

// Advances the loop's clock without waiting, and runs the timers that are due.
inline void pass(EventLoop& loop, EventLoop::Clock::duration time) {
  EventLoop::Clock::advance(time);
  run_once(loop);
}

}  // namespace plughost::test
