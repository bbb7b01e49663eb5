#pragma once
// Measures GPUs that a fake NVML library lists.

#include <cstddef>

namespace plughost::bench {

// Prints the figures. Returns the exit code.
int run_gpus(std::size_t rounds);

}  // namespace plughost::bench
