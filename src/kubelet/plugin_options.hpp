#pragma once
// What an endpoint says it can do, in Register and from GetDevicePluginOptions alike. A plain value.

namespace plughost {

struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const PluginOptions&) const = default;
};

}  // namespace plughost
