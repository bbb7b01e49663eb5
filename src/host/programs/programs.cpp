#include "host/programs/programs.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "host/programs/subprocess.hpp"

namespace plughost {

namespace {

// Ignores descendants in the child's process group, which may still live; only the pipes show them.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

bool has_closed_its_pipes(const Child& child) {
  std::array<pollfd, 2> pipes{{{.fd = child.output.get(), .events = 0, .revents = 0},
                               {.fd = child.errors.get(), .events = 0, .revents = 0}}};
  ::poll(pipes.data(), pipes.size(), 0);
  return std::ranges::all_of(pipes, [](const pollfd& pipe) { return pipe.fd < 0 || pipe.revents != 0; });
}

}  // namespace

Programs::Programs(EventLoop& loop)
    : loop_(loop),
      next_turn_(loop, [this] { give_turns(); }),
      reap_(loop, [this] { reap(); }),
      starters_(loop, kThreads) {}

Programs::~Programs() {
  for (auto started = launches_.begin(); started != launches_.end();) {
    const auto next = std::next(started);
    started->launch->give_up();
    if (started->launch->has_child()) on_launched(started);  // the loop would have reported it
    started = next;
  }
  const auto last = EventLoop::Clock::now() + kGrace + kLast;
  while (!terminated_.empty() && EventLoop::Clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reap();
  }
}

// Uses a timer, so that no callback runs from within a function of this object.
void Programs::start_waiting() {
  if (!next_turn_.armed()) next_turn_.arm(EventLoop::Clock::duration::zero());
}

void Programs::give_turns() {
  while (const auto ticket = turns_.next()) waiting_.extract(*ticket).mapped()->begin();
}

bool Programs::hangs(const std::vector<std::string>& command) const {
  const auto before = EventLoop::Clock::now() - kHangsAfter;
  const auto hung = std::ranges::count_if(terminated_, [&](const Terminated& each) {
    return each.killed && *each.killed <= before && each.command == command;
  });
  const auto starting = std::ranges::count_if(launches_, [&](const Started& started) {
    return started.given_up && *started.given_up <= before && started.launch->path() == command[0];
  });
  return static_cast<std::size_t>(hung + starting) >= kMostHung;
}

Programs::Launches::iterator Programs::launch(const Program& program, Subprocess& owner) {
  const auto launch = std::make_shared<Launch>(program);
  const auto started = launches_.insert(launches_.end(), {.launch = launch, .owner = &owner});
  starters_.run([launch] { launch->run(); }, lifetime_.bound([this, started] { on_launched(started); }),
                kSlowStart, [] {});
  return started;
}

void Programs::on_launched(Launches::iterator started) {
  const Started done = std::move(*started);
  launches_.erase(started);
  if (done.owner)
    done.owner->on_launched(*done.launch);
  else if (done.launch->how() == Ending::How::kExited)
    end(done.launch->take(), done.launch->command());
}

void Programs::give_up(Launches::iterator started) {
  started->launch->give_up();
  if (!started->given_up) started->given_up = EventLoop::Clock::now();
}

void Programs::end(Child child, const std::vector<std::string>& command, std::function<void()> gone) {
  ::kill(-child.pid, SIGTERM);
  terminated_.push_back({.child = std::move(child),
                         .command = command,
                         .gone = std::move(gone),
                         .since = EventLoop::Clock::now()});
  reap_again_.reset();
  arm_reap();
}

// Kills the group before the child is reaped: afterwards the kernel may reuse the group's number. A child
// that has ended before other processes of its group, such as a shell with a pipeline, stays unreaped until
// these processes have ended or kGrace is over.
bool Programs::has_gone(Terminated& terminated, EventLoop::Clock::time_point now) {
  Child& child = terminated.child;
  if (!terminated.killed) {
    const bool all_ended = has_ended(child.pid) && has_closed_its_pipes(child);
    if (!all_ended && now < terminated.since + kGrace) return false;
    ::kill(-child.pid, SIGKILL);
    terminated.killed = now;
    child = {.pid = child.pid};  // a hanging child must not keep descriptors of this process
  }
  return ::waitpid(child.pid, nullptr, WNOHANG) != 0;
}

void Programs::arm_reap() {
  auto next = EventLoop::Clock::now() + reap_again_.next();
  for (const Terminated& each : terminated_) {
    if (!each.killed) next = std::min(next, each.since + kGrace);
  }
  reap_.arm_at(next);
}

void Programs::reap() {
  const auto now = EventLoop::Clock::now();
  std::vector<std::function<void()>> gone;
  for (auto each = terminated_.begin(); each != terminated_.end();) {
    const auto next = std::next(each);
    if (has_gone(*each, now)) {
      gone.push_back(std::move(each->gone));
      terminated_.erase(each);
    }
    each = next;
  }
  if (!terminated_.empty()) arm_reap();
  for (const auto& call : gone) call();
}

Turns::Line Turns::open(Purpose purpose, std::size_t at_once) {
  lines_.emplace(next_line_, Queue{.purpose = purpose, .at_once = at_once, .waiting = {}});
  return next_line_++;
}

void Turns::close(Line line) { lines_.erase(line); }

Turns::Ticket Turns::wait(Line line) {
  lines_.at(line).waiting.insert(next_ticket_);
  return next_ticket_++;
}

void Turns::leave(Line line, Ticket ticket) {
  Queue& queue = lines_.at(line);
  if (queue.waiting.erase(ticket) > 0) return;
  --queue.running;
  --running_for(queue.purpose);
  if (queue.purpose != Purpose::kStay) --running_;
}

std::optional<Turns::Ticket> Turns::next() {
  Queue* first = nullptr;
  for (auto& [line, queue] : lines_) {
    if (may_run(queue) && (!first || goes_before(queue, *first))) first = &queue;
  }
  if (!first) return std::nullopt;
  const Ticket ticket = first->waiting.extract(first->waiting.begin()).value();
  ++first->running;
  ++running_for(first->purpose);
  if (first->purpose != Purpose::kStay) ++running_;
  return ticket;
}

bool Turns::may_run(const Queue& queue) const {
  if (queue.waiting.empty() || queue.running >= queue.at_once) return false;
  return queue.purpose == Purpose::kStay || running_ < kAtOnce || running_for(queue.purpose) < kOfEach;
}

bool Turns::goes_before(const Queue& one, const Queue& other) const {
  const std::size_t ones = running_for(one.purpose);
  const std::size_t others = running_for(other.purpose);
  return ones != others ? ones < others : *one.waiting.begin() < *other.waiting.begin();
}

}  // namespace plughost
