#pragma once
// A program that runs beside us, from its turn to its end. Loop thread only.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/event_loop.hpp"
#include "host/programs/launch.hpp"
#include "host/programs/program.hpp"
#include "host/programs/programs.hpp"

namespace plughost {

class Subprocess {
 public:
  // What is kept of standard error where it is apart: its end.
  static constexpr std::size_t kMostErrors = 4u << 10;

  // It has a small environment of its own (PATH and LANG), no descriptor but the standard ones, no signal
  // blocked, and a process group of its own. When it ends, what it has left in its group is killed, and done
  // is called. When it has run for longer than its time-out its group gets SIGTERM, and Programs::kGrace
  // later SIGKILL; its place is another's, and done is called with kOverdue at once. Once it has ended, gone
  // is: what waits for hardware cannot be killed. Both come in the loop, after the constructor, and may
  // destroy this. queue outlives it.
  Subprocess(
      ProgramQueue& queue, Program program, std::function<void(Ending)> done,
      std::function<void()> gone = [] {});
  // What still runs ends in the same way, and nobody is told.
  ~Subprocess();
  Subprocess& operator=(Subprocess&&) = delete;

  // From now on it may run for so long. It has begun.
  void extend(std::chrono::milliseconds timeout);
  // Has it had its turn?
  bool begun() const { return state_ != State::kWaits; }
  // The end of what it has written to standard error, where that is apart.
  const std::string& errors() const { return ending_.errors; }

 private:
  friend class Programs;

  enum class State { kWaits, kStarts, kRuns, kEnded };

  void begin();
  void on_launched(Launch& launch);
  void watch();
  void leave_queue();
  void terminate();
  bool reap();  // false: it runs
  void read_output();
  void keep(std::string_view text);
  void append_lines(std::string_view text);
  void read_errors();
  void stop_reading();
  void on_exit();
  void on_timer();
  void end(Ending::How how, int number);
  void finish();

  ProgramQueue& queue_;
  Programs& programs_;
  Program program_;
  std::function<void(Ending)> done_;
  std::function<void()> gone_;
  State state_ = State::kWaits;
  std::optional<Turns::Ticket> ticket_;    // while it waits, or has a place
  Programs::Launches::iterator launch_{};  // while it starts
  bool overdue_ = false;                   // done was called, and gone will be
  Ending ending_;
  Child child_;  // while it runs, and is not to end
  std::optional<IoWatch> process_watch_;
  std::optional<IoWatch> output_watch_;
  std::optional<IoWatch> errors_watch_;
  std::size_t unpaused_ = 0;  // bytes read since the last pause
  Timer pause_;               // between two reads of one that writes without end
  Timer timer_;               // the time-out
  Lifetime lifetime_;
};

// A program that a thread waits for, where there is no loop: in a command, or in a test. Thread-safe.

// Blocks until the program has ended, by itself or by a kill; never much longer than its time-out and
// Programs::kGrace. Throws std::system_error if the system has no descriptors to spare.
Ending run_program(const Program& program);

}  // namespace plughost
