#pragma once
// What is known of one NVIDIA card, or of a part of one. A value.

#include <string>

#include "host/nvml_view.hpp"

namespace plughost {

// A card, or a MIG device of one.
struct NvidiaGpu : NvmlView::Unit {
  std::string trouble;
  bool trouble_lasts = false;  // see Device::lasting
};

// The node of the card with that minor number.
inline std::string nvidia_node(unsigned minor) { return "/dev/nvidia" + std::to_string(minor); }

}  // namespace plughost
