#pragma once
// Another device plugin, told by the keys of its configuration. Thread-safe.

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

// Whose configuration the document looks like. A generic-device-plugin's may be one of plughost's as well:
// its words are ours.
std::optional<OtherPlugin> other_plugin(const Node& root);

// As its authors call it: "generic-device-plugin".
std::string_view name_of(OtherPlugin plugin);

}  // namespace plughost
