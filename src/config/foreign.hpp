#pragma once
// Configurations of other device plugins, told by their top-level keys. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "document/node.hpp"

namespace plughost {

enum class ForeignConfig {
  kGenericDevicePlugin,
  kMicroShift,
  kNvidia,
  kRdmaShared,
  kSmarter,
  kSriov,
};

// Whose configuration the document looks like. A generic-device-plugin's may be one of plughost's as well:
// its words are ours.
std::optional<ForeignConfig> foreign_config(const Node& root);

// As its authors call it: "generic-device-plugin".
std::string_view name_of(ForeignConfig config);

}  // namespace plughost
