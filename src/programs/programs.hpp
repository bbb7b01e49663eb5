#pragma once
// The programs of the process: who runs, who waits, who starts them and who reaps them. Loop thread only.

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "base/workers.hpp"
#include "programs/launch.hpp"
#include "programs/turns.hpp"

namespace plughost {

class Subprocess;

// One for a loop. Threads of its own start the programs, because the file system that one lies on may hang.
class Programs {
 public:
  // A start that takes longer keeps its thread, and the next ones get another.
  static constexpr std::chrono::milliseconds kSlowStart{250};
  // Between the SIGTERM with which the end of a program begins and the SIGKILL.
  static constexpr std::chrono::seconds kGrace{1};
  // How long ~Programs waits for what was killed.
  static constexpr std::chrono::milliseconds kLast{500};
  // What was killed and lives still after this, or was given up and has not even begun, hangs. A program of
  // which so many hang is not started again: it would be one more.
  static constexpr std::chrono::seconds kHangsAfter{1};
  static constexpr std::size_t kMostHung = 4;

  // loop outlives it.
  explicit Programs(EventLoop& loop);
  // What is being started is killed once it has begun. Waits for those that are to end: for the rest of
  // kGrace, and then for kLast.
  ~Programs();
  Programs& operator=(Programs&&) = delete;

  EventLoop& loop() const { return loop_; }

 private:
  friend class ProgramQueue;
  friend class Subprocess;

  struct Started {
    std::shared_ptr<Launch> launch;
    Subprocess* owner;  // nullptr: nobody wants it any more
    std::optional<EventLoop::Clock::time_point> given_up = std::nullopt;
  };
  // One that is to end. Nobody reads its pipes any more, but they stay open: what it says while it clears up
  // must not be its end.
  struct Terminated {
    Child child;
    std::vector<std::string> command;
    std::function<void()> gone;
    EventLoop::Clock::time_point since;
    std::optional<EventLoop::Clock::time_point> killed = std::nullopt;
  };
  using Launches = std::list<Started>;

  static constexpr unsigned kThreads = 2;

  void look_for_turns();
  void give_turns();
  bool hangs(const std::vector<std::string>& command) const;
  Launches::iterator launch(const Program& program, Subprocess& owner);
  void on_launched(Launches::iterator started);
  void give_up(Launches::iterator started);
  // SIGTERM for the child's group, and after kGrace SIGKILL. gone is called in the loop when the child has
  // ended, which may take its time.
  void end(
      Child child, const std::vector<std::string>& command, std::function<void()> gone = [] {});
  static bool has_gone(Terminated& terminated, EventLoop::Clock::time_point now);
  void arm_reap();
  void reap();

  EventLoop& loop_;
  Turns turns_;
  std::map<Turns::Ticket, Subprocess*> waiting_;
  Timer next_turn_;
  Launches launches_;
  std::list<Terminated> terminated_;  // and not reaped yet
  Backoff reap_again_{std::chrono::milliseconds(1), std::chrono::seconds(1)};
  Timer reap_;
  Lifetime lifetime_;
  Workers starters_;
};

}  // namespace plughost
