#pragma once
// How the kind `rdma` is read, with a clock that a test can move. Internal to kinds.

#include <chrono>
#include <functional>
#include <memory>

#include "kinds/kind.hpp"

namespace plughost {

using RdmaClock = std::function<std::chrono::steady_clock::time_point()>;

// A port's state is looked at so often, and has to differ from what was known for so long before it counts.
inline constexpr std::chrono::seconds kPortStateInterval{5};

std::unique_ptr<const DeviceSource> read_rdma(Fields& entry, RdmaClock clock);

}  // namespace plughost
