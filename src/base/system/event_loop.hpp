#pragma once
// The event loop: file descriptors, timers, signals, and tasks that other threads post. Loop thread only,
// except Poster.
//
// A supervisor of 64 resources must restart, reload and stop without ever missing an event or waiting for a
// lock, so one thread owns every domain object, and everything that can block runs elsewhere and posts its
// result here. Locks were refused: a test can try every order of events of one thread, but not of two
// threads. Boost.Asio was refused: signals, uevents, inotify and child processes are descriptors, for which
// epoll can wait directly. The loop of an idle daemon wakes for its safety timer only: the process made 31
// context switches in 15 s, 30 of them in gRPC's two timer threads (./dev bench --idle 15).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/system/unique_fd.hpp"

namespace plughost {

class IoWatch;
class Timer;

// CLOCK_MONOTONIC. A test can advance it instead of waiting. Thread-safe.
class LoopClock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;

  static time_point now() { return std::chrono::steady_clock::now() + duration(ahead_.load()); }
  static void advance(duration by) { ahead_ += by.count(); }

 private:
  static inline std::atomic<rep> ahead_{0};
};

class EventLoop {
 public:
  using Clock = LoopClock;
  using Task = std::function<void()>;

  // Runs tasks in the loop, in the order of posting. After the loop has been destroyed, tasks are dropped.
  // Copyable, thread-safe.
  class Poster {
   public:
    void operator()(Task task) const;

   private:
    friend class EventLoop;
    struct Mailbox;
    explicit Poster(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}
    std::shared_ptr<Mailbox> mailbox_;
  };

  // Throws std::system_error.
  EventLoop();
  ~EventLoop();
  EventLoop& operator=(EventLoop&&) = delete;

  // Runs until stop(). Exceptions of callbacks are passed on to the caller.
  void run();
  void stop() { stopped_ = true; }
  const Poster& poster() const { return poster_; }

 private:
  friend class IoWatch;
  friend class Timer;

  void run_due_timers();
  int milliseconds_to_next_timer() const;  // -1: no timer is armed

  UniqueFd epoll_;
  Poster poster_;
  bool stopped_ = false;
  // Keyed by number instead of address, because a callback may destroy a watch whose event has already been
  // fetched.
  std::unordered_map<std::uint64_t, IoWatch*> watches_;
  std::uint64_t next_watch_ = 1;
  std::set<std::pair<Clock::time_point, Timer*>> timers_;
};

// Calls back while a file descriptor is ready or, with EPOLLET in the events, when the descriptor becomes
// ready. `fd` and `loop` must outlive this object.
class IoWatch {
 public:
  using Callback = std::function<void(std::uint32_t events)>;

  // events: EPOLLIN and so on. Throws std::system_error.
  IoWatch(EventLoop& loop, int fd, std::uint32_t events, Callback callback);
  ~IoWatch();
  // Replaces the events. EPOLLHUP and EPOLLERR are always reported.
  void want(std::uint32_t events);
  IoWatch& operator=(IoWatch&&) = delete;

 private:
  friend class EventLoop;
  EventLoop& loop_;
  int fd_;
  std::uint64_t number_;
  Callback callback_;
};

// Calls back once each time it is armed. `loop` must outlive this object.
class Timer {
 public:
  Timer(EventLoop& loop, EventLoop::Task callback) : loop_(loop), callback_(std::move(callback)) {}
  ~Timer() { cancel(); }
  Timer& operator=(Timer&&) = delete;

  void arm(EventLoop::Clock::duration after) { arm_at(EventLoop::Clock::now() + after); }
  void arm_at(EventLoop::Clock::time_point due);
  void cancel();
  bool armed() const { return armed_; }
  EventLoop::Clock::time_point due() const { return due_; }

 private:
  friend class EventLoop;
  EventLoop& loop_;
  EventLoop::Task callback_;
  EventLoop::Clock::time_point due_{};
  bool armed_ = false;
};

// Disables an object's callbacks when the object ends. Must be a member of that object. Loop thread only;
// other threads may only pass on the functions that bound() returns.
class Lifetime {
 public:
  // Returns a function that calls f while this exists, and does nothing afterwards.
  template <typename F>
  auto bound(F f) const {
    return
        [alive = std::weak_ptr(alive_), f = std::move(f)]<typename... Arguments>(Arguments&&... arguments) {
          if (!alive.expired()) f(std::forward<Arguments>(arguments)...);
        };
  }
  // Disables all functions that bound() has returned so far.
  void renew() { alive_ = std::make_shared<const bool>(true); }

 private:
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

// Blocks the signals in this thread and in threads that it starts. Must be called before the first thread is
// started (gRPC and loggers start threads). Also ignores SIGPIPE, and stops ignoring SIGCHLD. Throws
// std::system_error.
void block_signals(std::initializer_list<int> signals);
// In this thread alone.
void unblock_signals(std::initializer_list<int> signals);

// Calls back with the number of each signal. The signals must be blocked. Loop thread only.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, std::initializer_list<int> signals, std::function<void(int)> callback);

 private:
  UniqueFd fd_;
  std::function<void(int)> callback_;
  IoWatch watch_;
};

}  // namespace plughost
