#pragma once
// What NVIDIA's management library says of a machine's cards, for a look at it later or elsewhere. A value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// Where a part lies in its card's memory: in so many of the slices that MIG divides that into.
struct MemorySlices {
  unsigned first = 0;
  unsigned count = 0;  // 0: unknown

  bool operator==(const MemorySlices&) const = default;
};

struct NvmlView {
  // A card, or a part that it is divided into (a MIG device).
  struct Unit {
    std::string uuid;
    std::string name;
    std::string index;               // "0"; of a part "0:1"
    std::string pci;                 // of the card; empty: unknown
    std::string profile;             // of a part: "1g.5gb", with '.' for '+'; empty: a card
    std::optional<unsigned> minor;   // of the card's node
    std::uint64_t memory = 0;        // bytes; 0: unknown
    unsigned multiprocessors = 0;    // of a part; 0: unknown
    MemorySlices slices;             // of a part
    std::vector<std::string> nodes;  // in /dev, without those that all cards share
    std::vector<Bond> bonds;         // to the other cards, and of a part to those of its own card

    bool operator==(const Unit&) const = default;
  };
  struct Card : Unit {
    bool mig_enabled = false;
    std::vector<Unit> parts;

    bool operator==(const Card&) const = default;
  };
  std::vector<Card> cards;
  std::string trouble;  // why the library cannot be used; empty: it can

  bool operator==(const NvmlView&) const = default;
};

}  // namespace plughost
