#pragma once
// What programs that print documents have in common: how they run, and what to say of their end. Thread-safe.

#include <string>
#include <vector>

#include "base/subprocess.hpp"

namespace plughost {

struct ExecProgram {
  std::vector<std::string> command;  // the absolute path, and the arguments
  std::string user;                  // whose name; empty: ours

  // With standard error apart, and no more than 4 MiB of output, or of a line.
  Program program() const;
};

// Why the end of a program is none that is wanted, with its last words: "the program exited with 3: no
// controller". Empty: it ended by itself with 0.
std::string why_ended(const Subprocess::Result& result);
// ": " and the last line of what it wrote to standard error; empty if there is none.
std::string last_words(const std::string& errors);

}  // namespace plughost
