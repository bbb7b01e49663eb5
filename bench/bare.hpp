#pragma once
// The baseline for the memory figures: gRPC servers with one open ListAndWatch stream each, and nothing else.

#include <cstddef>

namespace plughost::bench {

// Prints the private memory (RssAnon) of a process with that many servers, in kB. Returns the exit code. Call
// it before any other use of gRPC in this process, because it forks the streams' clients.
int run_bare_servers(std::size_t servers);

}  // namespace plughost::bench
