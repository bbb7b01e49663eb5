#pragma once

#include <string>

namespace plughost::test {

// Returns a shell script that runs `first` and waits; on SIGTERM it runs `on_term` and ends. The script
// starts no program after it has set the trap: dash loses signals while it starts a program, because vfork()
// shares its memory.
inline std::string trapping(const std::string& on_term, const std::string& first = ":") {
  return "sleep 1000 & trap '" + on_term + "; exit' TERM; " + first + "; wait";
}

}  // namespace plughost::test
