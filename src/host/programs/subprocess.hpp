#pragma once
// A program that runs as a child process, from its turn to its end. Loop thread only.

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
  // The number of bytes kept of the end of standard error, if it is apart.
  static constexpr std::size_t kMostErrors = 4u << 10;

  // The program gets a small environment (PATH and LANG), only the standard descriptors, no blocked signals
  // and its own process group. When it ends, the other processes of its group are killed and `done` is
  // called. After the timeout, the group gets SIGTERM, and SIGKILL Programs::kGrace later; the place becomes
  // free and `done` is called with kOverdue at once. `gone` is then called when the program has ended, which
  // may take long, because a process that waits for hardware cannot be killed. Both callbacks run in the
  // loop, after the constructor, and may destroy this object. `queue` must outlive this object.
  Subprocess(
      ProgramQueue& queue, Program program, std::function<void(Ending)> done,
      std::function<void()> gone = [] {});
  // Ends a running program by the same signals, and calls no callback.
  ~Subprocess();
  Subprocess& operator=(Subprocess&&) = delete;

  // Restarts the timeout of a program that has begun.
  void extend(std::chrono::milliseconds timeout);
  // Returns true once the program has had its turn.
  bool begun() const { return state_ != State::kWaits; }
  // Returns the end of standard error, if it is apart.
  const std::string& errors() const { return ending_.errors; }

 private:
  friend class Programs;

  enum class State { kWaits, kStarts, kRuns, kEnded };

  void begin();
  void on_launched(Launch& launch);
  void leave_queue();
  void terminate();
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
  std::optional<Turns::Ticket> ticket_;    // set while the program waits or occupies a place
  Programs::Launches::iterator launch_{};  // valid while the program is being started
  bool overdue_ = false;                   // done was called, and gone will be
  Ending ending_;
  Child child_;  // set while the program runs and is not being ended
  std::optional<IoWatch> process_watch_;
  std::optional<IoWatch> output_watch_;
  std::optional<IoWatch> errors_watch_;
  std::size_t unpaused_ = 0;  // bytes read since the last pause
  Timer pause_;               // between two reads of endless output
  Timer timer_;               // the timeout
  Lifetime lifetime_;
};

// Runs a program without a loop, in a command or a test. Blocks until the program has ended or was killed;
// never much longer than its timeout and Programs::kGrace. Throws std::system_error if the system has no
// descriptors left. Thread-safe.
Ending run_program(const Program& program);

}  // namespace plughost
