#pragma once
// The command line.

namespace plughost {

// Runs the command that `words` names; words[0] is the program. Returns the exit code (see
// tools/commands/command.hpp). The output on std::cout and std::cerr is printable.
int run_command_line(int count, const char* const* words);

}  // namespace plughost
