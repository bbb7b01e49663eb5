#pragma once
// A gRPC server without a port: accepted connections are handed to it. Thread-safe.

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>

namespace plughost {

enum class ServerFilters {
  kUsual,
  // Compression, tracing, limits on a message's size: memory with each connection. For peers that are
  // trusted.
  kNone,
};

// The services outlive it. Throws std::runtime_error.
std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services,
                                                ServerFilters filters);

}  // namespace plughost
