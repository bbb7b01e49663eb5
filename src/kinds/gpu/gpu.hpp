#pragma once
// How the kind `gpu` is read, with a clock and a library that a test can choose. Internal to kinds.

#include <memory>
#include <string>

#include "kinds/gpu/nvidia_gpus.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// nvml: NVIDIA's library as dlopen takes it; empty: there is none.
std::unique_ptr<const DeviceSource> read_gpu(Fields& entry, const std::string& nvml, NvidiaGpus::Now now);

}  // namespace plughost
