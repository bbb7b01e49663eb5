#include "kubernetes/kubelet/grpc_setup.hpp"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>

#include <climits>
#include <stdexcept>

namespace plughost {

std::unique_ptr<grpc::Server> start_grpc_server(std::initializer_list<grpc::Service*> services) {
  grpc::ServerBuilder builder;
  for (grpc::Service* const service : services) builder.RegisterService(service);
  // The peer is on this machine, so a closed socket is noticed without pings. Keepalive pings and bandwidth
  // probes would keep timers running.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Saves each connection's memory for zero-copy sends, which unix sockets do not support.
  builder.AddChannelArgument(GRPC_ARG_TCP_TX_ZEROCOPY_MAX_SIMULT_SENDS, 1);
  builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) throw std::runtime_error("gRPC cannot start a server");
  return server;
}

namespace {

// gRPC's hook is a plain function, so this global cannot be avoided.
Log* target = nullptr;

void write(gpr_log_func_args* args) {
  // Some of gRPC's errors, such as a peer that disconnects during a call, are no errors for an operator.
  if (args->severity == GPR_LOG_SEVERITY_ERROR)
    target->warn("grpc", {{"text", args->message}});
  else
    target->debug("grpc", {{"text", args->message}});
}

}  // namespace

void route_grpc_log(Log& log) {
  target = &log;
  gpr_set_log_function(&write);
}

void lock_without_graph() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace plughost
