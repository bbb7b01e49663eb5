#include "log/log_sink.hpp"

#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "log/log_line.hpp"

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
struct LogSink::State {
  std::optional<Journal> journal;

  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<spdlog::formatter> formatter;
  LogQueue queue;
  bool has_thread = false;
  bool finishing = false;  // with the queue's end, or at once
  bool abandoned = false;

  // With the mutex.
  std::string formatted(const spdlog::details::log_msg& line) const {
    spdlog::memory_buf_t text;
    formatter->format(line, text);
    return {text.data(), text.size()};
  }
  std::string missing(std::size_t lines) const {
    const std::string text =
        packed("log lines dropped: the reader is too slow", {{"lines", std::to_string(lines)}});
    return formatted({{}, spdlog::level::warn, text});
  }
  void put(std::string_view line) const {
    const std::size_t end = std::min(line.find('\0'), line.size());
    if (end == line.size() || !journal || !journal->send(line.substr(end + 1)))
      write_out(line.substr(0, end));
  }
};

LogSink::LogSink(std::optional<Journal> journal, std::unique_ptr<spdlog::formatter> formatter)
    : state_(std::make_shared<State>()) {
  state_->journal = std::move(journal);
  state_->formatter = std::move(formatter);
}

LogSink::~LogSink() {
  start_thread_if_needed();
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->changed.notify_all();
  if (!state_->changed.wait_for(lock, kLastDeadline, [this] { return !state_->has_thread; }))
    state_->abandoned = true;
}

void LogSink::log(const spdlog::details::log_msg& line) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push(state_->formatted(line));
    state_->changed.notify_all();
  }
  start_thread_if_needed();
}

void LogSink::set_pattern(const std::string& pattern) {
  set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern));
}

void LogSink::set_formatter(std::unique_ptr<spdlog::formatter> formatter) {
  const std::lock_guard lock(state_->mutex);
  state_->formatter = std::move(formatter);
}

void LogSink::start_thread_if_needed() {
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

void LogSink::work(State& state) {
  block_all_signals();
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return state.finishing || !state.queue.empty(); });
    const std::optional<LogQueue::Next> next = state.abandoned ? std::nullopt : state.queue.pop();
    if (!next) break;
    const std::string notice = next->left_out > 0 ? state.missing(next->left_out) : "";
    lock.unlock();
    if (!notice.empty()) state.put(notice);
    if (next->line) state.put(*next->line);
    lock.lock();
  }
  state.has_thread = false;
  state.changed.notify_all();
}

}  // namespace plughost
