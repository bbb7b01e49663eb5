#pragma once
// Reads the kind `gpu`, with a library that tests can choose. Internal to kinds.

#include <memory>
#include <string>

#include "kinds/kind.hpp"

namespace plughost {

// `nvml` is NVIDIA's library, as for dlopen; empty if there is none.
std::unique_ptr<const DeviceSource> read_gpu(Fields& entry, const std::string& nvml);

}  // namespace plughost
