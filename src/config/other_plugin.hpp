#pragma once
// Recognises other device plugins by the keys of their configuration. Thread-safe.

#include <optional>
#include <string_view>

#include "base/document/node.hpp"

namespace plughost {

enum class OtherPlugin {
  kAkri,
  kGenericDevicePlugin,
  kGpushare,  // has flags only
  kIntelGpu,  // has flags only
  kKubeVirt,
  kMicroShift,
  kMini,  // kube-device-plugin-mini; has flags only
  kNvidia,
  kRdmaShared,
  kRocm,  // has flags only
  kSmarter,
  kSriov,
  kVolcano,
};

// Returns the plugin whose configuration the document looks like. For generic-device-plugin, the document may
// be plughost's own configuration as well, because the keys are the same.
std::optional<OtherPlugin> other_plugin(const Node& root);

// Returns the project's name: "generic-device-plugin".
std::string_view name_of(OtherPlugin plugin);
std::optional<OtherPlugin> plugin_named(std::string_view name);

}  // namespace plughost
