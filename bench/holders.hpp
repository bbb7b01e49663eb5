#pragma once

namespace plughost::bench {

// Measures how long questions about 48,000 units of one pod hold the loop, and what memory they take. Prints
// a row for each. Returns an exit status.
int run_holders();

}  // namespace plughost::bench
