#include "programs/programs.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "programs/subprocess.hpp"

namespace plughost {

Programs::Programs(EventLoop& loop)
    : loop_(loop),
      next_turn_(loop, [this] { give_turns(); }),
      reap_(loop, [this] { reap(); }),
      starters_(loop, kThreads) {}

Programs::~Programs() {
  for (const Started& started : launches_) started.launch->give_up();
  const auto end = EventLoop::Clock::now() + kLast;
  while (!killed_.empty() && EventLoop::Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reap();
  }
}

// From the timer: nobody is called from within.
void Programs::look_for_turns() {
  if (!next_turn_.armed()) next_turn_.arm(EventLoop::Clock::duration::zero());
}

void Programs::give_turns() {
  while (const auto ticket = turns_.next()) waiting_.extract(*ticket).mapped()->begin();
}

bool Programs::hangs(const std::vector<std::string>& command) const {
  const auto before = EventLoop::Clock::now() - kHangsAfter;
  const auto hung = std::ranges::count_if(
      killed_, [&](const Killed& killed) { return killed.when <= before && killed.command == command; });
  const auto starting = std::ranges::count_if(launches_, [&](const Started& started) {
    return started.given_up && *started.given_up <= before && started.launch->path() == command[0];
  });
  return static_cast<std::size_t>(hung + starting) >= kMostHung;
}

Programs::Launches::iterator Programs::launch(const Program& program, Subprocess& owner) {
  const auto launch = std::make_shared<Launch>(program);
  const auto started = launches_.insert(launches_.end(), {.launch = launch, .owner = &owner});
  starters_.run([launch] { launch->run(); },
                [this, started, alive = std::weak_ptr(alive_)] {
                  if (!alive.expired()) on_launched(started);
                },
                kSlowStart, [] {});
  return started;
}

void Programs::on_launched(Launches::iterator started) {
  const Started done = std::move(*started);
  launches_.erase(started);
  if (done.owner)
    done.owner->on_launched(*done.launch);
  else if (done.launch->how() == Ending::How::kExited)
    kill_and_reap(done.launch->take().pid, done.launch->command());
}

void Programs::give_up(Launches::iterator started) {
  started->launch->give_up();
  if (!started->given_up) started->given_up = EventLoop::Clock::now();
}

void Programs::kill_and_reap(pid_t child, const std::vector<std::string>& command) {
  ::kill(-child, SIGKILL);
  killed_.push_back({.child = child, .command = command, .when = EventLoop::Clock::now()});
  reap_again_.reset();
  reap_.arm(reap_again_.next());
}

void Programs::reap() {
  std::erase_if(killed_, [](const Killed& killed) { return ::waitpid(killed.child, nullptr, WNOHANG) != 0; });
  if (!killed_.empty()) reap_.arm(reap_again_.next());
}

}  // namespace plughost
