#include "kubelet/grpc_server.hpp"

#include <climits>
#include <stdexcept>

namespace plughost {

std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services) {
  grpc::ServerBuilder builder;
  for (grpc::Service* const service : services) builder.RegisterService(service);
  // The peer is on this machine: no ping tells more than the socket's end. Both would keep timers running.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Room that each connection has for sends without a copy, which unix sockets have not.
  builder.AddChannelArgument(GRPC_ARG_TCP_TX_ZEROCOPY_MAX_SIMULT_SENDS, 1);
  builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) throw std::runtime_error("gRPC cannot start a server");
  return server;
}

}  // namespace plughost
