#pragma once
// The programs of this process: which run, which wait, and their start and reaping.

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
  kStay,  // runs permanently: such programs need no turn
  kList,
  kHealth,
  kAllocate,
  kPreStart,
  kUnhealthy,
  kRemove,
};

// Decides which program runs next. A plain value. Waiting programs form lines, each with its own limit.
// Within a purpose, the program that has waited longest is next; among purposes, the purpose with the fewest
// running programs. Thus neither a long line nor hanging programs can block another purpose.
class Turns {
 public:
  // The maximum number of running programs.
  static constexpr std::size_t kAtOnce = 32;
  // Each purpose may run this many programs regardless of the other purposes.
  static constexpr std::size_t kOfEach = 4;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  using Line = std::uint64_t;
  using Ticket = std::uint64_t;  // ascending: the smallest has waited longest

  Line open(Purpose purpose, std::size_t at_once);
  // The line must have no tickets.
  void close(Line line);
  Ticket wait(Line line);
  // Ends the ticket's wait, or frees the place that the ticket occupies.
  void leave(Line line, Ticket ticket);
  // Returns the ticket whose turn it is, which then occupies a place; nullopt if no program may run now.
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
  std::size_t running_ = 0;  // without permanent programs
  Line next_line_ = 1;
  Ticket next_ticket_ = 1;
};

class Subprocess;

// One per loop. Loop thread only. Its own threads start the programs, because a file system may hang.
class Programs {
 public:
  // After this time, a start keeps its thread, and other starts get another thread.
  static constexpr std::chrono::milliseconds kSlowStart{250};
  // Between SIGTERM and SIGKILL.
  static constexpr std::chrono::seconds kGrace{1};
  // How long the destructor waits for killed programs.
  static constexpr std::chrono::milliseconds kLast{500};
  // A program hangs if it lives this long after its kill, or if its start was abandoned this long ago and has
  // not ended. A program with too many hanging instances is not started again.
  static constexpr std::chrono::seconds kHangsAfter{1};
  static constexpr std::size_t kMostHung = 4;

  // `loop` must outlive this object.
  explicit Programs(EventLoop& loop);
  // Kills programs that are still being started as soon as they have begun. Waits for ending programs: for
  // the rest of kGrace, and then for kLast.
  ~Programs();
  Programs& operator=(Programs&&) = delete;

  EventLoop& loop() const { return loop_; }

 private:
  friend class ProgramQueue;
  friend class Subprocess;

  struct Started {
    std::shared_ptr<Launch> launch;
    Subprocess* owner;  // nullptr: abandoned
    std::optional<EventLoop::Clock::time_point> given_up = std::nullopt;
  };
  // A program that is being ended. Its pipes are not read but stay open, so that the program is not killed by
  // output during its clean-up.
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
  // Sends SIGTERM to the child's process group, and SIGKILL after kGrace. Calls `gone` in the loop when the
  // child has ended, which may take long.
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
  std::list<Terminated> terminated_;  // not reaped yet
  Backoff reap_again_{std::chrono::milliseconds(1), std::chrono::seconds(1)};
  Timer reap_;
  Lifetime lifetime_;
  Workers starters_;
};

// Programs that wait in one line. At most `at_once` of these programs run at the same time, if Turns has free
// places. Loop thread only.
class ProgramQueue {
 public:
  // `programs` must outlive this object, and this object must outlive its Subprocesses.
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
