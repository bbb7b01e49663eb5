#include "supervisor/kubelet_link.hpp"

namespace plughost {
namespace {

constexpr const char* kKubeletSocket = "kubelet.sock";

}  // namespace

KubeletLink::KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
                         std::function<void()> on_kubelet, std::function<void()> on_sockets)
    : log_(platform.log),
      config_(config),
      directory_(former && former->directory_->path() == config.socket_directory()
                     ? former->directory_
                     : std::make_shared<PluginDirectory>(config.socket_directory())),
      registration_(platform.loop, config.directory / kKubeletSocket),
      pod_resources_(platform.loop, config.pod_resources),
      allocatable_(platform.loop, config.pod_resources),
      checkpoint_(platform.workers, platform.log, config.directory / kCheckpointName),
      holdings_(platform.loop, pod_resources_, checkpoint_),
      watcher_(
          platform.directories, registers() ? config.directory / kKubeletSocket : config.plugins_registry,
          [this, on_kubelet = std::move(on_kubelet)] {
            registration_.on_other_kubelet();
            on_kubelet();
          },
          config.socket_directory(), std::move(on_sockets)) {}

void KubeletLink::note_answer(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  const bool silent = result == kNobodyListens || result == kWentAway;
  if (silent && !silence_told_)
    log_.warn("the kubelet does not answer: asking again and again", {{"why", why}});
  silence_told_ = silent;
  if (result == kNobodyListens) watcher_.look();
}

void KubeletLink::note_answer(const PodResources::Answer& answer) {
  const bool secret = !answer.holdings;
  if (secret && !secrecy_told_)
    log_.warn(
        "the kubelet does not say which pods hold devices: those that are gone are forgotten by time alone",
        {{"why", answer.why}});
  secrecy_told_ = secret;
}

}  // namespace plughost
