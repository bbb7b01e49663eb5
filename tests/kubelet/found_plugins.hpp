#pragma once
// Plugins that the kubelet finds in plugins_registry and queries with GetInfo (pkg/kubelet/pluginmanager).
// Loop thread only.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kubelet/plugin_client.hpp"
#include "kubelet/plugins_registry_watch.hpp"

namespace plughost {

class FoundPlugins {
 public:
  using Done = std::function<void(const std::string& error)>;
  struct Actions {
    std::function<std::shared_ptr<PluginClient>(const std::filesystem::path& socket)> make_client;
    // `endpoint` is absolute. `done` receives an error, or an empty text on success.
    std::function<void(const std::string& resource, const std::filesystem::path& endpoint, Done done)> add;
    std::function<void(const std::string& resource)> remove;
    std::function<void(std::string)> error;
  };

  // `loop` must outlive this object. Throws std::system_error.
  FoundPlugins(EventLoop& loop, const std::filesystem::path& directory,
               std::chrono::milliseconds dial_timeout, Actions actions);
  ~FoundPlugins();
  FoundPlugins& operator=(FoundPlugins&&) = delete;

 private:
  struct Found {
    std::filesystem::path path;
    std::string resource;  // empty: not registered yet
    std::shared_ptr<PluginClient> client;
    std::unique_ptr<Timer> retry;
    bool gone = false;
  };
  using FoundPointer = std::shared_ptr<Found>;

  void ask(const FoundPointer& found);
  void on_info(const FoundPointer& found, const PluginInfo& info);
  void finish(const FoundPointer& found, const std::string& resource, const std::string& error);
  void retry_later(const FoundPointer& found, const std::string& why);
  void forget(Found& found);

  EventLoop& loop_;
  std::chrono::milliseconds dial_timeout_;
  Actions actions_;
  std::map<std::string, FoundPointer> found_;  // by path
  PluginsRegistryWatch watch_;
};

}  // namespace plughost
