#include "base/system/workers.hpp"

#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace plughost {
namespace {

struct Job {
  std::function<void()> body;
  std::function<void()> done;
  std::function<void()> overdue;
  EventLoop::Clock::duration deadline;
  EventLoop::Clock::time_point due{};  // valid once the job runs
  bool wedged = false;
};

}  // namespace

// Shared with the threads, which are detached and may outlive the pool.
struct Workers::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Job> waiting;
  std::list<Job> running;
  unsigned threads = 0;  // without wedged threads
  unsigned idle = 0;
  bool stopping = false;
};

Workers::Workers(EventLoop& loop, unsigned threads)
    : loop_(loop),
      threads_(threads),
      state_(std::make_shared<State>()),
      deadline_timer_(loop, [this] { find_wedged(); }) {}

Workers::~Workers() {
  std::list<Job> dropped;
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  dropped.swap(state_->waiting);
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kLastDeadline, [this] { return state_->threads == 0; });
}

void Workers::run(std::function<void()> job, std::function<void()> done, std::chrono::milliseconds deadline,
                  std::function<void()> overdue) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back({std::move(job), std::move(done), std::move(overdue), deadline});
    state_->changed.notify_one();
  }
  start_thread_if_needed();
  // A job's deadline counts from its start. This time is only the earliest at which a check makes sense.
  const auto look = EventLoop::Clock::now() + deadline;
  if (!deadline_timer_.armed() || look < deadline_timer_.due()) deadline_timer_.arm_at(look);
}

void Workers::start_thread_if_needed() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->idle >= state_->waiting.size() || state_->threads >= threads_) return;
    ++state_->threads;
  }
  try {
    std::thread(work, state_, loop_.poster()).detach();
  } catch (const std::system_error&) {
    // No thread could be started: a running thread takes the job, or the next check starts a thread.
    const std::lock_guard lock(state_->mutex);
    --state_->threads;
  }
}

void Workers::work(const std::shared_ptr<State>& state, const EventLoop::Poster& poster) {
  std::unique_lock lock(state->mutex);
  bool replaced = false;
  while (!replaced) {
    ++state->idle;
    state->changed.wait(lock, [&] { return state->stopping || !state->waiting.empty(); });
    --state->idle;
    if (state->stopping) break;
    state->running.splice(state->running.begin(), state->waiting, state->waiting.begin());
    const auto job = state->running.begin();
    job->due = EventLoop::Clock::now() + job->deadline;
    lock.unlock();
    job->body();
    job->body = nullptr;  // the job's captures are destroyed on this thread, not in the loop
    lock.lock();
    replaced = job->wedged;
    poster(std::move(job->done));
    state->running.erase(job);
  }
  if (!replaced) --state->threads;
  state->changed.notify_all();
}

void Workers::find_wedged() {
  const auto now = EventLoop::Clock::now();
  auto next = EventLoop::Clock::time_point::max();
  std::list<std::function<void()>> overdue;
  {
    const std::lock_guard lock(state_->mutex);
    for (Job& job : state_->running) {
      if (job.wedged) continue;
      if (job.due <= now) {
        job.wedged = true;
        --state_->threads;
        overdue.push_back(job.overdue);
      } else {
        next = std::min(next, job.due);
      }
    }
    for (const Job& job : state_->waiting) next = std::min(next, now + job.deadline);
  }
  if (next != EventLoop::Clock::time_point::max()) deadline_timer_.arm_at(next);
  start_thread_if_needed();
  for (const auto& report : overdue) report();
}

}  // namespace plughost
