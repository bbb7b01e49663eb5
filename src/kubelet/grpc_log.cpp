#include "kubelet/grpc_log.hpp"

#include <grpc/support/log.h>

namespace plughost {

namespace {

// gRPC's hook is a bare function: the one place where a global cannot be avoided.
Log* target = nullptr;

void write(gpr_log_func_args* args) {
  // What gRPC calls an error (a peer that went away in mid-call) is seldom one for the reader of our log.
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

}  // namespace plughost
