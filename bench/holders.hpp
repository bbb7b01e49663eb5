#pragma once

namespace plughost::bench {

// Measures how long queries about one pod with 48,000 units hold the loop, and how much memory they need.
// Prints a row for each. Returns the exit code.
int run_holders();

}  // namespace plughost::bench
