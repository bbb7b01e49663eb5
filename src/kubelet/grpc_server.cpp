#include "kubelet/grpc_server.hpp"

#include <climits>
#include <stdexcept>

namespace plughost {

namespace {

// Of a peer that is not trusted: what a call may ask with, and how many it may have open on a connection.
constexpr int kMostRequestBytes = 64 << 10;
constexpr int kMostStreams = 100;

}  // namespace

std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services,
                                                ServerFilters filters) {
  grpc::ServerBuilder builder;
  for (grpc::Service* const service : services) builder.RegisterService(service);
  // The peer is on this machine: no ping tells more than the socket's end. Both would keep timers running.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Room that each connection has for sends without a copy, which unix sockets have not.
  builder.AddChannelArgument(GRPC_ARG_TCP_TX_ZEROCOPY_MAX_SIMULT_SENDS, 1);
  if (filters == ServerFilters::kNone) {
    builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  } else {
    builder.SetMaxReceiveMessageSize(kMostRequestBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) throw std::runtime_error("gRPC cannot start a server");
  return server;
}

}  // namespace plughost
