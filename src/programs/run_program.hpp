#pragma once
// A program that a thread waits for, where there is no loop: in a command, or in a test. Thread-safe.

#include "programs/program.hpp"

namespace plughost {

// Blocks until the program has ended, by itself or by a kill; never much longer than its time-out and
// Programs::kGrace. Throws std::system_error if the system has no descriptors to spare.
Ending run_program(const Program& program);

}  // namespace plughost
