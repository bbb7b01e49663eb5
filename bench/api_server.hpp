#pragma once
// What `apiServer` costs the daemon.

#include <cstddef>

namespace plughost::bench {

// The daemon with a watch of its Node over TLS, and with the key alone, by turns with one without it: private
// memory, descriptors, wake-ups.
void measure_api_server(std::size_t rounds);

}  // namespace plughost::bench
