#pragma once
// What an endpoint says it can do, in Register and from GetDevicePluginOptions alike. A plain value.

#include "device/recipe.hpp"

namespace plughost {

struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const PluginOptions&) const = default;
};

// Fixed for an endpoint's life: the kubelet asks once, when it dials.
inline PluginOptions options_of(const Recipe& recipe) {
  return {.pre_start_required = recipe.pre_start || recipe.assume,
          .preferred_allocation_available = recipe.policy != AllocationPolicy::kNone || !recipe.near.empty()};
}

}  // namespace plughost
