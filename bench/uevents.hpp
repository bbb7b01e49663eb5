#pragma once
// Measures devices that appear and vanish by uevents, on a simulated machine.

#include <cstddef>

namespace plughost::bench {

// Prints the figures. Enters new namespaces, so the process must have no other thread, and cannot be used for
// anything else afterwards. Returns the exit code.
int run_uevents(std::size_t rounds);

}  // namespace plughost::bench
