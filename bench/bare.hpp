#pragma once
// The peer of the memory figures: gRPC servers with one open ListAndWatch stream each, and nothing else.

#include <cstddef>

namespace plughost::bench {

// Prints the private memory (RssAnon) of a process with so many of them, in kB. Returns the exit code. Before
// any other use of gRPC in this process: the streams' clients are a fork of it.
int run_bare_servers(std::size_t servers);

}  // namespace plughost::bench
