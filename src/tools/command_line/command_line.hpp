#pragma once

namespace plughost {

// Runs the command line `words`, whose first element is the program's name. Returns the exit code (see
// tools/commands/command.hpp). Replaces non-printable characters on std::cout and std::cerr.
int run_command_line(int count, const char* const* words);

}  // namespace plughost
