#pragma once
// Measures what the `apiServer` key of the configuration costs the daemon.

#include <cstddef>

namespace plughost::bench {

// Compares a daemon that watches its Node over TLS, and one that has the key but does not use it, with one
// without the key, in alternating runs: private memory, descriptors and wake-ups.
void measure_api_server(std::size_t rounds);

}  // namespace plughost::bench
