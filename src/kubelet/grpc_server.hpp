#pragma once
// A gRPC server without a port: accepted connections are handed to it. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>

namespace plughost {

// For peers that are trusted: without compression, tracing, and limits on a message's size, which cost memory
// with each connection. The services outlive it. Throws std::runtime_error.
std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services);

}  // namespace plughost
