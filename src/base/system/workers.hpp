#pragma once
// Threads for what can block. Loop thread only; jobs run on the workers.

#include <chrono>
#include <functional>
#include <memory>

#include "base/system/event_loop.hpp"

namespace plughost {

class Workers {
 public:
  // How long ~Workers waits for the jobs that still run.
  static constexpr std::chrono::milliseconds kLastDeadline{500};

  // At most `threads` jobs make progress at once; threads start when they are needed. The loop outlives it.
  Workers(EventLoop& loop, unsigned threads);
  // Jobs that have not begun are dropped. Jobs that do not end within kLastDeadline are abandoned: they must
  // own what they use.
  ~Workers();
  Workers& operator=(Workers&&) = delete;

  // job runs on a worker and must not throw; then done runs in the loop. A job that has run for longer than
  // deadline is wedged: overdue runs in the loop, another thread takes its place, and done still runs should
  // it ever end.
  void run(std::function<void()> job, std::function<void()> done, std::chrono::milliseconds deadline,
           std::function<void()> overdue);

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state, const EventLoop::Poster& poster);
  void find_wedged();
  void start_thread_if_needed();

  EventLoop& loop_;
  unsigned threads_;
  std::shared_ptr<State> state_;
  Timer deadline_timer_;
};

}  // namespace plughost
