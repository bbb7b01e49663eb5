#include "kubelet/found_plugins.hpp"

#include <algorithm>

#include "kubelet/protocol_text.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

constexpr std::chrono::seconds kInfoTimeout{1};
constexpr std::chrono::seconds kNotifyTimeout{5};
// The kubelet's plugin manager waits this long after the first failure.
constexpr std::chrono::milliseconds kRetryAfter{500};

// Returns why the plugin's information is invalid; empty: it is valid. [ValidatePlugin]
std::string objection_to(const PluginInfo& info) {
  if (info.type != "DevicePlugin")
    return "no handler registered for plugin type: " + info.type + " at socket";
  if (std::ranges::find(info.versions, kDevicePluginVersion) == info.versions.end())
    return std::string("manager version, ") + kDevicePluginVersion +
           ", is not among plugin supported versions";
  if (const std::string error = resource_name_error(info.name); !error.empty())
    return "invalid name of device plugin socket: the ResourceName \"" + info.name +
           "\" is invalid: " + error;
  return {};
}

}  // namespace

FoundPlugins::FoundPlugins(EventLoop& loop, const std::filesystem::path& directory,
                           std::chrono::milliseconds dial_timeout, Actions actions)
    : loop_(loop),
      dial_timeout_(dial_timeout),
      actions_(std::move(actions)),
      watch_(loop, directory,
             {.came =
                  [this](const std::filesystem::path& socket) {
                    auto found = std::make_shared<Found>();
                    found->path = socket;
                    found_[socket] = found;
                    ask(found);
                  },
              .went =
                  [this](const std::filesystem::path& socket) {
                    const auto node = found_.extract(socket);
                    if (!node) return;
                    forget(*node.mapped());
                    if (!node.mapped()->resource.empty()) actions_.remove(node.mapped()->resource);
                  },
              .error = [this](std::string what) { actions_.error(std::move(what)); }}) {}

FoundPlugins::~FoundPlugins() {
  for (const auto& [path, found] : found_) forget(*found);
}

void FoundPlugins::forget(Found& found) {
  found.gone = true;
  found.retry.reset();
  if (found.client) found.client->close();
}

void FoundPlugins::ask(const FoundPointer& found) {
  found->client = actions_.make_client(found->path);
  found->client->dial(dial_timeout_, [this, found](bool connected) {
    if (!connected) return retry_later(found, "failed to dial socket");
    found->client->ask_info(kInfoTimeout, [this, found](const CallEnd& end, const PluginInfo& info) {
      if (found->gone) return;
      if (!end.ok())
        return retry_later(found, "failed to get plugin info using RPC GetInfo: " + rpc_error(end));
      on_info(found, info);
    });
  });
}

void FoundPlugins::on_info(const FoundPointer& found, const PluginInfo& info) {
  const std::string& resource = info.name;
  if (const std::string objection = objection_to(info); !objection.empty())
    return finish(found, resource, objection);
  const std::filesystem::path endpoint = info.endpoint.empty() ? found->path.string() : info.endpoint;
  actions_.add(resource, endpoint, [this, found, resource](const std::string& error) {
    if (!found->gone) finish(found, resource, error);
  });
}

void FoundPlugins::finish(const FoundPointer& found, const std::string& resource, const std::string& error) {
  const auto client = found->client;
  client->notify(error, kNotifyTimeout, [client] { client->close(); });
  if (error.empty()) {
    found->resource = resource;
  } else {
    retry_later(found, error);
  }
}

void FoundPlugins::retry_later(const FoundPointer& found, const std::string& why) {
  actions_.error("RegisterPlugin error -- " + found->path.string() + ": " + why);
  found->retry = std::make_unique<Timer>(loop_, [this, weak = std::weak_ptr<Found>(found)] {
    if (const FoundPointer again = weak.lock(); again && !again->gone) ask(again);
  });
  found->retry->arm(kRetryAfter);
}

}  // namespace plughost
