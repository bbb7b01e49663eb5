#pragma once
// What an endpoint serves. Immutable once made, and so thread-safe.

#include <memory>
#include <string>

#include "kubelet/call_tally.hpp"
#include "kubelet/container_answer.hpp"
#include "kubelet/inventory_feed.hpp"
#include "kubelet/plugin_options.hpp"

namespace plughost {

// How the kubelet learns of a resource.
enum class Announcement { kRegister, kPluginsRegistry };

struct ServedResource {
  std::string name;
  PluginOptions options;
  Announcement announcement = Announcement::kRegister;
  std::shared_ptr<InventoryFeed> feed;
  std::shared_ptr<CallTally> calls;
  CheckAnswer check_answer;
};

}  // namespace plughost
