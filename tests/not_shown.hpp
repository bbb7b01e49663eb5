#pragma once
// For a test that this machine cannot run.

#include <cstdlib>
#include <iostream>
#include <string>

namespace plughost::test {

// Ends the process with the exit code that means 'skipped' to CTest, and says why. To be called before
// anything is made that has to be tidied up.
[[noreturn]] inline void not_shown(const std::string& why) {
  constexpr int kSkipped = 77;  // as in CMakeLists.txt
  std::cerr << "not shown: " << why << std::endl;
  std::_Exit(kSkipped);
}

}  // namespace plughost::test
