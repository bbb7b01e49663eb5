#pragma once
// gRPC as it serves here: a server without a port, its log in ours, and no locks of its own.

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>

#include "base/log/log.hpp"

namespace plughost {

// For peers that are trusted: without compression, tracing, and limits on a message's size, which cost memory
// with each connection. The services outlive it. Throws std::runtime_error.
std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services);

// gRPC writes to standard error by itself: its words become lines of our log.

// Before any other use of gRPC. log outlives every use of gRPC in this process.
void route_grpc_log(Log& log);

// What gRPC's locks keep of each other. Thread-safe.

// Debian builds abseil's mutexes with their search for deadlocks: each one that was ever locked leaves an
// entry in a graph that only grows, and costs time at each lock. Best before the first use of gRPC.
void lock_without_graph();

}  // namespace plughost
