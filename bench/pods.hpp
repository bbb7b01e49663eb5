#pragma once
// Measures the cost of the pods that the API server lists and watches for a node.

namespace plughost::bench {

// Prints the longest hold of the loop and the peak memory for a node with 10,000 pods, of which 9,000 have
// ended; one pod object has 4 MiB and one 64 MiB. Forks, so the process must have only one thread. Returns
// the exit code.
int run_pods();

}  // namespace plughost::bench
