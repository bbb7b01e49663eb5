#pragma once
// Measures one configuration file for many nodes: how fast a change of the file is applied, and what entries
// for other nodes cost.

#include <cstddef>

namespace plughost::bench {

void measure_fleet(std::size_t rounds);

}  // namespace plughost::bench
