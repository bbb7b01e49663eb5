#include "base/log_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log_queue.hpp"

namespace plughost {

namespace {

// To standard error; what it does not take for another reason than a lack of room is lost.
void write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // somebody who shares it does not want to wait
      pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// A reader that goes away is no reason to die, and a signal to the process is for the loop.
void block_all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

// Shared with the thread, which is detached and may outlive the writer.
struct LogWriter::State {
  std::optional<Journal> journal;
  Notice notice;

  std::mutex mutex;
  std::condition_variable changed;
  LogQueue queue;
  bool has_thread = false;
  bool finishing = false;  // with the queue's end, or at once
  bool abandoned = false;

  void put(const LogLine& line) const {
    if (line.datagram.empty() || !journal || !journal->send(line.datagram)) write_out(line.text);
  }
};

LogWriter::LogWriter(std::optional<Journal> journal, Notice notice) : state_(std::make_shared<State>()) {
  state_->journal = std::move(journal);
  state_->notice = std::move(notice);
}

LogWriter::~LogWriter() {
  start_thread_if_needed();
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->changed.notify_all();
  if (!state_->changed.wait_for(lock, kLastDeadline, [this] { return !state_->has_thread; }))
    state_->abandoned = true;
}

void LogWriter::write(LogLine line) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push(std::move(line));
    state_->changed.notify_all();
  }
  start_thread_if_needed();
}

void LogWriter::start_thread_if_needed() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->has_thread || state_->queue.empty()) return;
    state_->has_thread = true;
  }
  try {
    std::thread([state = state_] { work(*state); }).detach();
  } catch (const std::system_error&) {
    // No thread to be had: the next line tries again.
    const std::lock_guard lock(state_->mutex);
    state_->has_thread = false;
  }
}

void LogWriter::work(State& state) {
  block_all_signals();
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.finishing || !state.queue.empty(); });
    const std::optional<LogQueue::Next> next = state.abandoned ? std::nullopt : state.queue.pop();
    if (!next) break;
    lock.unlock();
    if (next->left_out > 0) state.put(state.notice(next->left_out));
    if (next->line) state.put(*next->line);
    lock.lock();
  }
  state.has_thread = false;
  state.changed.notify_all();
}

}  // namespace plughost
