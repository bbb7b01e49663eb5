#pragma once
// Devices that come and go by uevents, on a made machine.

#include <cstddef>

namespace plughost::bench {

// Prints its figures; the process must have no threads yet, and is of no other use afterwards. Returns the
// exit code.
int run_uevents(std::size_t rounds);

}  // namespace plughost::bench
