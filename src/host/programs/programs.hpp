#pragma once
// The programs of the process: who runs, who waits, who starts them and who reaps them.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "base/system/workers.hpp"
#include "host/programs/launch.hpp"

namespace plughost {

enum class Purpose : std::size_t {
  kStay,  // it stays: such programs need no turn
  kList,
  kHealth,
  kAllocate,
  kPreStart,
  kUnhealthy,
  kRemove,
};

// Whose turn it is to run. A plain value. Those who wait stand in lines, each with a limit of its own. Within
// a purpose the one that has waited longest goes first; of the purposes, the one that has the fewest running.
// So many in one line, or programs that hang, keep no other purpose waiting.
class Turns {
 public:
  // So many programs run at once.
  static constexpr std::size_t kAtOnce = 32;
  // But so many of each purpose run whatever else does.
  static constexpr std::size_t kOfEach = 4;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  using Line = std::uint64_t;
  using Ticket = std::uint64_t;  // rising: the smallest has waited longest

  Line open(Purpose purpose, std::size_t at_once);
  // All of its tickets have left.
  void close(Line line);
  Ticket wait(Line line);
  // Ends its waiting, or gives its place back.
  void leave(Line line, Ticket ticket);
  // The next one whose turn it is: it has its place now.
  std::optional<Ticket> next();

 private:
  struct Queue {
    Purpose purpose;
    std::size_t at_once;
    std::size_t running = 0;
    std::set<Ticket> waiting;
  };

  bool may_run(const Queue& queue) const;
  bool goes_before(const Queue& one, const Queue& other) const;
  std::size_t& running_for(Purpose purpose) { return running_for_[static_cast<std::size_t>(purpose)]; }
  std::size_t running_for(Purpose purpose) const { return running_for_[static_cast<std::size_t>(purpose)]; }

  std::map<Line, Queue> lines_;
  std::array<std::size_t, static_cast<std::size_t>(Purpose::kRemove) + 1> running_for_{};
  std::size_t running_ = 0;  // without those that stay
  Line next_line_ = 1;
  Ticket next_ticket_ = 1;
};

// The programs of the process: who runs, who waits, who starts them and who reaps them. Loop thread only.
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

  void start_waiting();
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

// Programs that wait in one line. Loop thread only.

// So many of them run at once, as far as the process has places for them.
class ProgramQueue {
 public:
  // programs outlives it, and it outlives its Subprocesses.
  ProgramQueue(Programs& programs, Purpose purpose, std::size_t at_once = Turns::kNoLimit)
      : programs_(programs), line_(programs.turns_.open(purpose, at_once)) {}
  ~ProgramQueue() { programs_.turns_.close(line_); }
  ProgramQueue& operator=(ProgramQueue&&) = delete;

 private:
  friend class Subprocess;

  Programs& programs_;
  Turns::Line line_;
};

}  // namespace plughost
