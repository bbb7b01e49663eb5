#pragma once
// What gRPC's locks keep of each other. Thread-safe.

namespace plughost {

// Debian builds abseil's mutexes with their search for deadlocks: each one that was ever locked leaves an
// entry in a graph that only grows, and costs time at each lock. Best before the first use of gRPC.
void lock_without_graph();

}  // namespace plughost
