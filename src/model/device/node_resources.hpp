#pragma once
// Counts of an entry's cards that the node shows beside its devices, for a scheduler to count with: nothing
// is allocated of them. Pure functions of values, thread-safe.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/text/json.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// What is counted of the healthy cards.
enum class CardCount {
  kCards,
  kCores,  // kCoresOfACard for each
};

struct NodeResourceSpec {
  std::string key;  // the node's: "doslab.io/gpu-count"
  CardCount count = CardCount::kCards;
  bool operator==(const NodeResourceSpec&) const = default;
};

// Why no node's key of that name can be ours, as a sentence; empty: it can.
std::string node_resource_error(std::string_view key);

using NodeResources = std::map<std::string, std::uint64_t>;

// lists: of the entry's resources. A card that is Unhealthy by itself does not count; one whose units are all
// held does.
NodeResources node_resources_of(std::span<const NodeResourceSpec> specs, std::span<const Inventory> lists);

// A node's capacity, as the API server prints it.
using Capacity = std::map<std::string, std::string>;

// Those of wanted that the node does not show. Numbers are compared, not their texts: 1k is 1000. What is 0
// is shown by a node that does not have the key, too.
NodeResources not_shown(const NodeResources& wanted, const Capacity& capacity);

// The merge patch of nodes/NAME/status that makes the node show these; the kubelet copies capacity to
// allocatable with its next update.
Json capacity_patch(const NodeResources& resources);

}  // namespace plughost
