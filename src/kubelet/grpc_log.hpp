#pragma once
// gRPC writes to standard error by itself: its words become lines of our log.

#include "base/log.hpp"

namespace plughost {

// Before any other use of gRPC. log outlives every use of gRPC in this process.
void route_grpc_log(Log& log);

}  // namespace plughost
