#pragma once
// GPUs that a fake of NVIDIA's library shows.

#include <cstddef>

namespace plughost::bench {

// Prints its figures. Returns the exit code.
int run_gpus(std::size_t rounds);

}  // namespace plughost::bench
