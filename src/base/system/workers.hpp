#pragma once
// Threads for blocking jobs. Loop thread only; jobs run on the workers.

#include <chrono>
#include <functional>
#include <memory>

#include "base/system/event_loop.hpp"

namespace plughost {

class Workers {
 public:
  // How long the destructor waits for running jobs.
  static constexpr std::chrono::milliseconds kLastDeadline{500};

  // At most `threads` jobs make progress at the same time. Threads are started on demand. `loop` must outlive
  // this object.
  Workers(EventLoop& loop, unsigned threads);
  // Drops jobs that have not begun. Abandons jobs that do not end within kLastDeadline: they must own what
  // they use.
  ~Workers();
  Workers& operator=(Workers&&) = delete;

  // Runs `job`, which must not throw, on a worker, then `done` in the loop. If a job exceeds its deadline,
  // `overdue` runs in the loop and another thread replaces the worker; `done` still runs when the job ends.
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
