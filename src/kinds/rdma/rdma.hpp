#pragma once
// Reads the kind `rdma`, with a clock that tests can move. Internal to kinds.

#include <chrono>
#include <functional>
#include <memory>

#include "kinds/kind.hpp"

namespace plughost {

using RdmaClock = std::function<std::chrono::steady_clock::time_point()>;

// The interval in which port states are read, and how long a new state must last to count.
inline constexpr std::chrono::seconds kPortStateInterval{5};

std::unique_ptr<const DeviceSource> read_rdma(Fields& entry, RdmaClock clock);

}  // namespace plughost
