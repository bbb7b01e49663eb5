#pragma once
// What programs that print documents have in common: how they run, and what to say of their end. Thread-safe.

#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "document/fields.hpp"

namespace plughost {

// What goes before a command that is to run as that user, with the user's groups. Empty if user is: as ours.
std::vector<std::string> words_as(const std::string& user);
// The key `user`.
std::string read_user(Fields& fields);

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
