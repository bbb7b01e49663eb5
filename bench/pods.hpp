#pragma once
// What the pods of a node cost that the API server lists and watches.

namespace plughost::bench {

// Of a node with 10,000 pods, 9,000 of which have ended, with one object of 4 MiB and one of 64 MiB: the
// longest that the loop is held, and the memory. The caller has one thread: it forks.
int run_pods();

}  // namespace plughost::bench
