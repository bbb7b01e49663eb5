#pragma once
// What is known of one NVIDIA card, or of a part of one: a value. And the cards where NVML cannot be used, by
// what the driver shows in /proc and its files below a directory of their own, as a driver container's are.
// Internal to the kind `gpu`. Worker threads: reads /proc, /sys and the file system.

#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// A card, or a MIG device of one.
struct NvidiaGpu : NvmlView::Unit {
  std::string error;
  bool error_lasts = false;  // see Device::lasting
};

// Needed by every container with a card of NVIDIA's, as far as they are there.
inline constexpr const char* kNvidiaNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                               "/dev/nvidia-modeset"};

// The node of the card with that minor number.
inline std::string nvidia_node(unsigned minor) { return "/dev/nvidia" + std::to_string(minor); }

// Where dlopen finds the library below root, as a path of the process; empty: it is not there.
std::string library_below(const HostRoot& host, const std::string& root, const std::string& library);
// The device node, as "/dev/nvidiactl", below root, or on the machine itself where root has none.
std::string node_below(const HostRoot& host, const std::string& root, const std::string& node);

// What there is without NVML. Adds remarks to scan.
std::vector<NvidiaGpu> nvidia_gpus_without_nvml(const HostRoot& host, const Nvml::Unusable& why, Scan& scan);

// The one device that NVIDIA's plugin has on a system on a chip: what its container runtime makes of it is in
// files of its own.
NvidiaGpu tegra_gpu();

}  // namespace plughost
