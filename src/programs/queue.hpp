#pragma once
// Programs that wait in one line. Loop thread only.

#include <cstddef>

#include "programs/programs.hpp"

namespace plughost {

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
