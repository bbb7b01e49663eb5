#pragma once
// NVIDIA's cards where NVML cannot be used: what the driver shows in /proc, and systems on a chip. Worker
// threads: reads /proc and /sys.

#include <string>
#include <vector>

#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// What there is without NVML, and why says why it is without. Adds remarks to scan.
std::vector<NvidiaGpu> nvidia_gpus_without_nvml(const HostRoot& host, const std::string& why, Scan& scan);

// The one device that NVIDIA's plugin has on a system on a chip: what its container runtime makes of it is in
// files of its own.
NvidiaGpu tegra_gpu();

}  // namespace plughost
