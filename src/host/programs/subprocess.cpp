#include "host/programs/subprocess.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <array>
#include <utility>

namespace plughost {

namespace {

// The pause between reads of a program that writes lines without end, so that it occupies neither the loop
// nor a processor.
constexpr std::chrono::milliseconds kPause{10};

constexpr std::size_t kPipe = 64u << 10;

// Passes to `take` what can be read now, at most the content of a pipe, so that endless output cannot block
// the loop. Returns false if the pipe was closed.
template <typename Take>
bool read_some(int fd, Take take) {
  for (std::size_t taken = 0; taken < kPipe;) {
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0;
    taken += static_cast<std::size_t>(size);
    take(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  return true;
}

}  // namespace

Subprocess::Subprocess(ProgramQueue& queue, Program program, std::function<void(Ending)> done,
                       std::function<void()> gone)
    : queue_(queue),
      programs_(queue.programs_),
      program_(std::move(program)),
      done_(std::move(done)),
      gone_(std::move(gone)),
      pause_(programs_.loop(), [this] { output_watch_->want(EPOLLIN); }),
      timer_(programs_.loop(), [this] { on_timer(); }) {
  ticket_ = programs_.turns_.wait(queue_.line_);
  programs_.waiting_[*ticket_] = this;
  programs_.start_waiting();
  if (program_.timeout_from == Program::TimeoutFrom::kNow) extend(program_.timeout);
}

Subprocess::~Subprocess() {
  leave_queue();
  if (state_ == State::kStarts) {
    launch_->owner = nullptr;
    programs_.give_up(launch_);
  }
  if (state_ == State::kRuns) terminate();
}

void Subprocess::leave_queue() {
  if (!ticket_) return;
  programs_.waiting_.erase(*ticket_);
  programs_.turns_.leave(queue_.line_, *ticket_);
  ticket_.reset();
  programs_.start_waiting();
}

void Subprocess::begin() {
  if (programs_.hangs(program_.command)) return end(Ending::How::kHangs, 0);
  state_ = State::kStarts;
  if (program_.timeout_from == Program::TimeoutFrom::kBegin) extend(program_.timeout);
  launch_ = programs_.launch(program_, *this);
}

void Subprocess::on_launched(Launch& launch) {
  if (launch.how() != Ending::How::kExited) return end(launch.how(), launch.number());
  state_ = State::kRuns;
  child_ = launch.take();
  // The timeout passed while the start was being reported: the program has not been ended yet.
  if (overdue_) return terminate();
  try {
    output_watch_.emplace(programs_.loop(), child_.output.get(), EPOLLIN,
                          [this](std::uint32_t) { read_output(); });
    if (child_.errors)
      errors_watch_.emplace(programs_.loop(), child_.errors.get(), EPOLLIN,
                            [this](std::uint32_t) { read_errors(); });
    process_watch_.emplace(programs_.loop(), child_.process.get(), EPOLLIN,
                           [this](std::uint32_t) { on_exit(); });
  } catch (const std::system_error& error) {
    programs_.end(std::exchange(child_, {}), program_.command);
    end(Ending::How::kNoMeans, error.code().value());
  }
}

void Subprocess::terminate() {
  if (child_.pid == 0) return;  // the child has been reaped, or will be
  stop_reading();
  process_watch_.reset();
  programs_.end(std::exchange(child_, {}), program_.command, lifetime_.bound([this] { finish(); }));
}

void Subprocess::extend(std::chrono::milliseconds timeout) {
  if (state_ == State::kEnded || overdue_) return;
  program_.timeout = timeout;
  if (timeout == Program::kForEver)
    timer_.cancel();
  else
    timer_.arm(timeout);
}

void Subprocess::read_output() {
  // Reads standard error first, because it may have a message about the line.
  if (errors_watch_) read_errors();
  const bool open = read_some(child_.output.get(), [this](std::string_view text) {
    unpaused_ += text.size();
    if (program_.on_line)
      append_lines(text);
    else
      keep(text);
  });
  // A program may write as fast as it is read, without ever having a whole pipe ready.
  const bool pauses = open && program_.on_line && unpaused_ >= kPipe;
  if (!open) {
    pause_.cancel();
    output_watch_.reset();  // a closed pipe would be readable for ever
  }
  if (pauses) {
    unpaused_ = 0;
    output_watch_->want(0);
    pause_.arm(kPause);
  }
  if (!ending_.excess || program_.excess != Program::Excess::kFatal || child_.pid == 0) return;
  ending_.how = Ending::How::kSignalled;
  ending_.number = SIGTERM;
  terminate();
}

void Subprocess::keep(std::string_view text) {
  const std::size_t room = program_.most_output - ending_.output.size();
  if (text.size() > room) ending_.excess = true;
  ending_.output.append(text.substr(0, room));
}

// ending_.output holds the incomplete line.
void Subprocess::append_lines(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    keep(text.substr(0, end));
    if (ending_.excess) return;
    text.remove_prefix(end + 1);
    program_.on_line(ending_.output);
    ending_.output.clear();
  }
  keep(text);
}

void Subprocess::read_errors() {
  const bool open = read_some(child_.errors.get(), [this](std::string_view text) {
    ending_.errors.append(text);
    if (ending_.errors.size() > kMostErrors) ending_.errors.erase(0, ending_.errors.size() - kMostErrors);
  });
  if (!open) errors_watch_.reset();
}

void Subprocess::stop_reading() {
  pause_.cancel();
  output_watch_.reset();
  errors_watch_.reset();
}

// Kills the group before the child is reaped: afterwards the kernel may reuse the group's number.
void Subprocess::on_exit() {
  ::kill(-child_.pid, SIGKILL);
  int status = 0;
  const pid_t reaped = ::waitpid(child_.pid, &status, WNOHANG);
  if (reaped == 0) return;
  child_.pid = 0;
  ending_.how = reaped < 0            ? Ending::How::kUntold
                : WIFSIGNALED(status) ? Ending::How::kSignalled
                                      : Ending::How::kExited;
  if (reaped > 0) ending_.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  if (output_watch_) read_output();
  if (errors_watch_) read_errors();  // there may have been no output to read
  finish();
}

void Subprocess::on_timer() {
  // If no thread was available for the start, the program itself is not at fault.
  const bool idle = program_.timeout_from == Program::TimeoutFrom::kBegin && state_ == State::kStarts &&
                    !launch_->launch->begun();
  overdue_ = state_ == State::kStarts || state_ == State::kRuns;
  if (state_ == State::kStarts) programs_.give_up(launch_);
  if (state_ == State::kRuns) terminate();
  if (!overdue_) state_ = State::kEnded;  // the program has not begun
  stop_reading();
  leave_queue();
  Ending ending = ending_;
  ending.how = idle ? Ending::How::kNoMeans : Ending::How::kOverdue;
  ending.number = idle ? EAGAIN : 0;
  ending.timeout = program_.timeout;
  const auto done = std::move(done_);
  done(std::move(ending));
}

void Subprocess::end(Ending::How how, int number) {
  ending_.how = how;
  ending_.number = number;
  finish();
}

void Subprocess::finish() {
  state_ = State::kEnded;
  timer_.cancel();
  stop_reading();
  process_watch_.reset();
  child_ = {};
  leave_queue();
  if (overdue_) {
    const auto gone = std::move(gone_);
    return gone();
  }
  const auto done = std::move(done_);
  done(std::move(ending_));
}

Ending run_program(const Program& program) {
  Ending ended;
  EventLoop loop;
  Programs programs(loop);
  ProgramQueue queue(programs, Purpose::kList);
  const Subprocess process(queue, program, [&](Ending ending) {
    ended = std::move(ending);
    loop.stop();
  });
  loop.run();
  return ended;
}

}  // namespace plughost
