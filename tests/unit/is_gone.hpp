#pragma once
// Returns true if the process has ended, even if it has not been reaped. Thread-safe.

#include <sys/types.h>

#include <fstream>
#include <string>

namespace plughost::test {

inline bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.empty() || text.substr(text.rfind(')') + 2, 1) == "Z";
}

}  // namespace plughost::test
