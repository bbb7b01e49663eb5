#pragma once
// Sets up gRPC for this process: servers without ports, messages in plughost's log, and cheaper locks.

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>

#include "base/log/log.hpp"

namespace plughost {

// Starts a server for trusted peers: without compression, tracing and limits on message sizes, which cost
// memory per connection. `services` must outlive the server. Throws std::runtime_error.
std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services);

// Writes gRPC's messages to `log` instead of standard error. Call it before any other use of gRPC. `log` must
// outlive all uses of gRPC in this process.
void route_grpc_log(Log& log);

// Turns off abseil's deadlock detection, which Debian's build enables: each mutex that was ever locked leaves
// an entry in a graph that only grows, and costs time at each lock. Best called before the first use of gRPC.
// Thread-safe.
void lock_without_graph();

}  // namespace plughost
