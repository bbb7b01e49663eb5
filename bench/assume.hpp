#pragma once
// What an Allocate costs whose pod is looked for among many.

#include <cstddef>

namespace plughost::bench {

// Needs the fake of NVIDIA's library, found by the loader.
void measure_assume(std::size_t rounds);

}  // namespace plughost::bench
