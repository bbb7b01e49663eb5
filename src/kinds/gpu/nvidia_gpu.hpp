#pragma once
// What is known of one NVIDIA card, or of a part of one. A value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// A card, or a MIG device of one.
struct NvidiaGpu {
  std::string uuid;
  std::string index;  // "0"; of a MIG device "0:1"
  std::string name;
  std::string pci;      // of the card; empty: unknown
  std::string profile;  // of a MIG device: "1g.5gb", with '.' for '+'; empty: a card
  std::optional<unsigned> minor;
  std::uint64_t memory = 0;        // bytes; 0: unknown
  std::vector<std::string> nodes;  // in /dev, without those that all cards share
  std::vector<Bond> bonds;         // to the other cards, and to the other parts of its own
  std::string trouble;
};

// The node of the card with that minor number.
inline std::string nvidia_node(unsigned minor) {
  return "/dev/nvidia" + std::to_string(minor);
}

}  // namespace plughost
