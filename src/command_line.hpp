#pragma once
// What can be said on the command line.

namespace plughost {

// Runs the command that the words name; words[0] is the program. Returns the exit code: see
// tools/commands/command.hpp. What is written to std::cout and std::cerr is printable.
int run_command_line(int count, const char* const* words);

}  // namespace plughost
