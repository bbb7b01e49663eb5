#pragma once
// One file for many nodes: how fast a change of it arrives, and what it costs that most of it is meant for
// others.

#include <cstddef>

namespace plughost::bench {

void measure_fleet(std::size_t rounds);

}  // namespace plughost::bench
