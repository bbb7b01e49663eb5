#pragma once
// For tests that this machine cannot run.

#include <cstdlib>
#include <iostream>
#include <string>

namespace plughost::test {

// Ends the process with CTest's exit code for 'skipped' and prints the reason. Call it before anything is
// created that needs a clean-up.
[[noreturn]] inline void not_shown(const std::string& why) {
  constexpr int kSkipped = 77;  // as in CMakeLists.txt
  std::cerr << "not shown: " << why << std::endl;
  std::_Exit(kSkipped);
}

}  // namespace plughost::test
