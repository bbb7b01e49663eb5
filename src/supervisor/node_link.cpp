#include "supervisor/node_link.hpp"

namespace plughost {

namespace {

constexpr const char* kKubeletSocket = "kubelet.sock";

}  // namespace

NodeLink::NodeLink(Platform& platform, const KubeletConfig& config, std::function<void()> on_kubelet,
                   std::function<void()> on_sockets)
    : config_(config),
      directory_(config.socket_directory()),
      registration_(platform.loop, config.directory / kKubeletSocket),
      watcher_(platform.directories,
               registers() ? config.directory / kKubeletSocket : config.plugins_registry,
               std::move(on_kubelet), config.socket_directory(), std::move(on_sockets)) {}

}  // namespace plughost
