#pragma once
// An NVIDIA card or MIG device, as a value; and the cards that can be found without NVML, from /proc and the
// driver's files, possibly below the root of a driver container. Internal to the kind `gpu`. Worker threads:
// reads /proc, /sys and the file system.

#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// A card, or one of its MIG devices.
struct NvidiaGpu : NvmlView::Unit {
  std::string error;
  bool error_lasts = false;  // see Device::lasting
};

// Nodes that every container with an NVIDIA card needs, as far as they exist.
inline constexpr const char* kNvidiaNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                               "/dev/nvidia-modeset"};

inline std::string nvidia_node(unsigned minor) { return "/dev/nvidia" + std::to_string(minor); }

// Returns where dlopen finds the library below root, as a path of this process; empty if it is missing.
std::string library_below(const HostRoot& host, const std::string& root, const std::string& library);
// Returns the device node, such as "/dev/nvidiactl", below `root`, or the host's node if `root` has none.
std::string node_below(const HostRoot& host, const std::string& root, const std::string& node);

// Returns the cards without NVML, and adds remarks to scan.
std::vector<NvidiaGpu> nvidia_gpus_without_nvml(const HostRoot& host, const Nvml::Unusable& why, Scan& scan);

// Returns why the machine offers no card, as a sentence, from the PCI bus and the driver's files.
std::string why_no_nvidia_gpu(const HostRoot& host);

// Returns the single device that NVIDIA's plugin lists on a system on a chip. The runtime adds its files.
NvidiaGpu tegra_gpu();

}  // namespace plughost
