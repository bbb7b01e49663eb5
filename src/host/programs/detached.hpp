#pragma once
// Starts a program that outlives this process: init becomes its parent, so the service manager can follow it
// as the service's main process.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/system/unique_fd.hpp"

namespace plughost {

struct DetachedProgram {
  pid_t pid = 0;
  UniqueFd process;  // pidfd, readable when the program has ended; empty if the kernel has none (before 5.3)

  // Kills the program. Does nothing without a pidfd, because another process may have the number by now.
  void kill() const;
};

// Starts `command`, whose first word is a path, with this process's environment, standard files and working
// directory; without the variables `left_out`, and with default signal dispositions and an empty signal mask.
// May block for as long as the program's file system, so it runs on a worker. Throws std::system_error.
DetachedProgram start_detached(const std::vector<std::string>& command,
                               const std::vector<std::string>& left_out);

// Returns the command line of this process. Its first word is a path: argv[0] if that is one, which may lead
// to a newer program by now; otherwise the path of the program that runs. Blocks on /proc. Throws
// std::system_error or std::runtime_error.
std::vector<std::string> own_command();

}  // namespace plughost
