#pragma once
// What the client of the API server costs.

namespace plughost::bench {

// The daemon's private memory with a watch of its Node and Events to write, over TLS, beside the same
// without.
void measure_api_server();

}  // namespace plughost::bench
