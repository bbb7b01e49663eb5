#pragma once
// The programs of the process: who runs, who waits, who starts them and who reaps them. Loop thread only.

#include <sys/types.h>

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "base/event_loop.hpp"
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
  // What was killed and lives still after this, or was given up and has not even begun, hangs. A program of
  // which so many hang is not started again: it would be one more.
  static constexpr std::chrono::seconds kHangsAfter{1};
  static constexpr std::size_t kMostHung = 4;

  // loop outlives it.
  explicit Programs(EventLoop& loop);
  // What is being started is killed once it has begun. Waits for those that were killed, for a moment.
  ~Programs();
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  EventLoop& loop() const { return loop_; }

 private:
  friend class ProgramQueue;
  friend class Subprocess;

  struct Started {
    std::shared_ptr<Launch> launch;
    Subprocess* owner;  // nullptr: nobody wants it any more
    std::optional<EventLoop::Clock::time_point> given_up = std::nullopt;
  };
  struct Killed {
    pid_t child;
    std::vector<std::string> command;
    EventLoop::Clock::time_point when;
  };
  using Launches = std::list<Started>;

  static constexpr unsigned kThreads = 2;
  static constexpr std::chrono::milliseconds kLast{500};

  void look_for_turns();
  void give_turns();
  bool hangs(const std::vector<std::string>& command) const;
  Launches::iterator launch(const Program& program, Subprocess& owner);
  void on_launched(Launches::iterator started);
  void give_up(Launches::iterator started);
  // Of a child that nobody waits for any more: what is killed may take its time.
  void kill_and_reap(pid_t child, const std::vector<std::string>& command);
  void reap();

  EventLoop& loop_;
  Turns turns_;
  std::map<Turns::Ticket, Subprocess*> waiting_;
  Timer next_turn_;
  Launches launches_;
  std::vector<Killed> killed_;  // and not reaped yet
  Backoff reap_again_{std::chrono::milliseconds(1), std::chrono::seconds(1)};
  Timer reap_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  Workers starters_;
};

}  // namespace plughost
