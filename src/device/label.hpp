#pragma once
// Labels of the node: what Kubernetes and Node Feature Discovery take, and what an entry's devices make of
// them. Pure functions of values, thread-safe. Sources: k8s.io/apimachinery's IsQualifiedName and
// IsValidLabelValue; pkg/apis/nfd/validate of Node Feature Discovery.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/inventory.hpp"
#include "device/template.hpp"

namespace plughost {

// As they are written.
struct LabelRecipe {
  std::string key;
  Template value;  // {count} (of devices), {id}, and the kind's attributes
  bool operator==(const LabelRecipe&) const = default;
};

// The key as the node has it: one without a prefix is in feature.node.kubernetes.io. Node Feature Discovery
// gave it that itself, and newer versions do not.
std::string label_name(std::string_view key);

// Why one of the two would refuse it, as a sentence; empty: they take it.
std::string label_key_trouble(std::string_view key);
std::string label_value_trouble(std::string_view value);

// What a text that a machine gave becomes in a label: '-' for spaces, nothing for other characters that a
// value cannot have, and a letter or a digit at both ends, as NVIDIA's gpu-feature-discovery makes them. It
// may be empty, or too long.
std::string label_value(std::string_view text);

struct Labels {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Pairs pairs;                       // in the order of the entry, with prefixes
  std::vector<std::string> remarks;  // which labels were left out, and why
};

// lists: of the entry's resources. Without a device that is there the node has none of the labels. A value is
// what all devices that are there make of it, sick ones included; where they differ, the label is left out.
Labels labels_of(std::span<const LabelRecipe> recipes, std::span<const Inventory> lists);

}  // namespace plughost
