#pragma once
// Plugins that the kubelet finds in plugins_registry and asks what they are (pkg/kubelet/pluginmanager).
// Loop thread only.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "standin/plugin_client.hpp"
#include "standin/plugins_registry_watch.hpp"

namespace plughost {

class FoundPlugins {
 public:
  using Done = std::function<void(const std::string& error)>;
  struct Actions {
    std::function<std::shared_ptr<PluginClient>(const std::filesystem::path& socket)> make_client;
    // What is wrong with it; empty: it can be added. [ValidatePlugin]
    std::function<std::string(const PluginInfo& info)> objection;
    // Its endpoint is absolute. done: an error, or the empty one. [RegisterPlugin]
    std::function<void(const PluginInfo& info, Done done)> add;
    std::function<void(const PluginInfo& info)> remove;
    std::function<void(std::string)> trouble;
  };

  // The loop outlives it. Throws std::system_error.
  FoundPlugins(EventLoop& loop, const std::filesystem::path& directory,
               std::chrono::milliseconds dial_timeout, Actions actions);
  ~FoundPlugins();
  FoundPlugins(const FoundPlugins&) = delete;
  FoundPlugins& operator=(const FoundPlugins&) = delete;

 private:
  struct Found {
    std::filesystem::path path;
    std::optional<PluginInfo> registered;
    std::shared_ptr<PluginClient> client;
    std::unique_ptr<Timer> retry;
    bool gone = false;
  };
  using FoundPointer = std::shared_ptr<Found>;

  void ask(const FoundPointer& found);
  void on_info(const FoundPointer& found, PluginInfo info);
  void finish(const FoundPointer& found, const PluginInfo& info, const std::string& error);
  void retry_later(const FoundPointer& found, const std::string& why);
  void forget(Found& found);

  EventLoop& loop_;
  std::chrono::milliseconds dial_timeout_;
  Actions actions_;
  std::map<std::string, FoundPointer> found_;  // by path
  PluginsRegistryWatch watch_;
};

}  // namespace plughost
