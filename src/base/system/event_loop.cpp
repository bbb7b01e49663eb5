#include "base/system/event_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <vector>

namespace plughost {
namespace {

constexpr std::uint64_t kMailbox = 0;

int control(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t number) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  return ::epoll_ctl(epoll, operation, fd, &event);
}

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

UniqueFd open_signalfd(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  return UniqueFd{check(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

}  // namespace

struct EventLoop::Poster::Mailbox {
  std::mutex mutex;
  std::vector<Task> tasks;
  bool closed = false;
  UniqueFd wake{check(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")};
};

void EventLoop::Poster::operator()(Task task) const {
  const std::lock_guard lock(mailbox_->mutex);
  if (mailbox_->closed) return;
  mailbox_->tasks.push_back(std::move(task));
  // The write can fail only if the counter is full, and then the loop wakes up anyway.
  if (mailbox_->tasks.size() == 1) ::eventfd_write(mailbox_->wake.get(), 1);
}

EventLoop::EventLoop()
    : epoll_(check(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      poster_(std::make_shared<Poster::Mailbox>()) {
  check(control(epoll_.get(), EPOLL_CTL_ADD, poster_.mailbox_->wake.get(), EPOLLIN, kMailbox), "epoll_ctl");
}

EventLoop::~EventLoop() {
  std::vector<Task> dropped;  // destroyed after the lock is released, because a task's destructor may post
  const std::lock_guard lock(poster_.mailbox_->mutex);
  poster_.mailbox_->closed = true;
  dropped.swap(poster_.mailbox_->tasks);
}

void EventLoop::run() {
  stopped_ = false;
  std::array<epoll_event, 64> events;
  while (!stopped_) {
    const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   milliseconds_to_next_timer());
    if (ready < 0 && errno != EINTR) throw_errno("epoll_wait");
    for (int i = 0; i < ready && !stopped_; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const std::uint64_t number =
          event.data.u64;  // by value: the kernel's struct is packed, and a reference into it is invalid
      if (number == kMailbox) {
        eventfd_t ignored = 0;
        ::eventfd_read(poster_.mailbox_->wake.get(), &ignored);
        std::vector<Task> tasks;
        {
          const std::lock_guard lock(poster_.mailbox_->mutex);
          tasks.swap(poster_.mailbox_->tasks);
        }
        for (const Task& task : tasks) task();
      } else if (const auto watch = watches_.find(number); watch != watches_.end()) {
        const auto callback = watch->second->callback_;  // a copy: the callback may destroy its watch
        callback(event.events);
      }
    }
    run_due_timers();
  }
}

void EventLoop::run_due_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now && !stopped_) {
    Timer* timer = timers_.begin()->second;
    timer->cancel();
    const auto callback = timer->callback_;  // a copy: the callback may destroy its timer
    callback();
  }
}

int EventLoop::milliseconds_to_next_timer() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

IoWatch::IoWatch(EventLoop& loop, int fd, std::uint32_t events, Callback callback)
    : loop_(loop), fd_(fd), number_(loop.next_watch_++), callback_(std::move(callback)) {
  check(control(loop_.epoll_.get(), EPOLL_CTL_ADD, fd_, events, number_), "epoll_ctl");
  loop_.watches_.emplace(number_, this);
}

IoWatch::~IoWatch() {
  loop_.watches_.erase(number_);
  ::epoll_ctl(loop_.epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
}

// The result is not checked, because EPOLL_CTL_MOD needs no further memory of the kernel.
void IoWatch::want(std::uint32_t events) { control(loop_.epoll_.get(), EPOLL_CTL_MOD, fd_, events, number_); }

void Timer::arm_at(EventLoop::Clock::time_point due) {
  cancel();
  due_ = due;
  armed_ = true;
  loop_.timers_.emplace(due_, this);
}

void Timer::cancel() {
  if (armed_) loop_.timers_.erase({due_, this});
  armed_ = false;
}

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  std::signal(SIGPIPE, SIG_IGN);
  // The parent process may have ignored SIGCHLD, and then the exit status of children would be lost.
  std::signal(SIGCHLD, SIG_DFL);
}

void unblock_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(EventLoop& loop, std::initializer_list<int> signals,
                         std::function<void(int)> callback)
    : fd_(open_signalfd(signals)),
      callback_(std::move(callback)),
      watch_(loop, fd_.get(), EPOLLIN, [this](std::uint32_t) {
        signalfd_siginfo info;
        while (::read(fd_.get(), &info, sizeof info) == sizeof info)
          callback_(static_cast<int>(info.ssi_signo));
      }) {}

}  // namespace plughost
