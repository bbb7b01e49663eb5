#pragma once
// What is known of one NVIDIA card, or of a part of one. A value.

#include <cstdint>
#include <string>
#include <vector>

#include "host/nvml_view.hpp"

namespace plughost {

// A card, or a MIG device of one.
struct NvidiaGpu : NvmlView::Unit {
  std::string trouble;
  // Of a part: the card that it is of.
  std::string card;               // its UUID; empty: it is a card itself
  std::uint64_t card_memory = 0;  // bytes; 0: unknown
  // Of a card that is offered with all of its parts, beside them: these. It is its own `card`.
  std::vector<NvmlView::Unit> parts;
};

// The node of the card with that minor number.
inline std::string nvidia_node(unsigned minor) {
  return "/dev/nvidia" + std::to_string(minor);
}

}  // namespace plughost
