#pragma once
// The loop thread: descriptors, timers, and tasks that other threads post. Loop thread only, except Poster.

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

// CLOCK_MONOTONIC, but for a test that does not wait: it has the clock go ahead. Thread-safe.
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

  // Thread-safe and copyable. Runs a task in the loop, in the order of posting; once the loop is gone, tasks
  // are dropped.
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

  // Until stop(). What a callback throws comes out of here.
  void run();
  void stop() { stopped_ = true; }
  const Poster& poster() const { return poster_; }

 private:
  friend class IoWatch;
  friend class Timer;

  void run_due_timers();
  int milliseconds_to_next_timer() const;  // -1: there is none

  UniqueFd epoll_;
  Poster poster_;
  bool stopped_ = false;
  // By number, not by address: a callback may destroy watches whose events are already fetched.
  std::unordered_map<std::uint64_t, IoWatch*> watches_;
  std::uint64_t next_watch_ = 1;
  std::set<std::pair<Clock::time_point, Timer*>> timers_;
};

// Calls back while a descriptor is ready (level-triggered). The descriptor and the loop outlive it.
class IoWatch {
 public:
  using Callback = std::function<void(std::uint32_t events)>;

  // events: EPOLLIN and so on. Throws std::system_error.
  IoWatch(EventLoop& loop, int fd, std::uint32_t events, Callback callback);
  ~IoWatch();
  // Other events from now on; those that cannot be left out (EPOLLHUP, EPOLLERR) are told with none, too.
  void want(std::uint32_t events);
  IoWatch& operator=(IoWatch&&) = delete;

 private:
  friend class EventLoop;
  EventLoop& loop_;
  int fd_;
  std::uint64_t number_;
  Callback callback_;
};

// Calls back once per arming. The loop outlives it.
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

// Callbacks that may come when the object that they belong to is gone. Made, called and ended in the loop
// thread; what bound() makes may be carried through any other.

// A member of the object, before what its callbacks use.
class Lifetime {
 public:
  // Does what f does while this lives, and nothing after that.
  template <typename F>
  auto bound(F f) const {
    return
        [alive = std::weak_ptr(alive_), f = std::move(f)]<typename... Arguments>(Arguments&&... arguments) {
          if (!alive.expired()) f(std::forward<Arguments>(arguments)...);
        };
  }
  // What has been bound until now does nothing any more.
  void renew() { alive_ = std::make_shared<const bool>(true); }

 private:
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

// Blocks the signals in this thread and those that it starts: call it before the first other thread is
// started (gRPC and loggers start some). From then on SIGPIPE is ignored, and SIGCHLD is not. Throws
// std::system_error.
void block_signals(std::initializer_list<int> signals);

// Loop thread only. Calls back with the signal's number. The signals have been blocked.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, std::initializer_list<int> signals, std::function<void(int)> callback);

 private:
  UniqueFd fd_;
  std::function<void(int)> callback_;
  IoWatch watch_;
};

}  // namespace plughost
