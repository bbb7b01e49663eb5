#include "daemon/platform/kubelet_link.hpp"

#include <memory>
#include <utility>

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
      checkpoint_(platform.workers, platform.log, config.directory / kCheckpointName,
                  config.pods_directory()),
      holdings_(platform.loop, platform.computations, pod_resources_, checkpoint_,
                {config.pod_resources, config.directory / kKubeletSocket}),
      watcher_(
          platform.directories, registers() ? config.directory / kKubeletSocket : config.plugins_registry,
          [this, on_kubelet = std::move(on_kubelet)] {
            registration_.on_other_kubelet();
            on_kubelet();
          },
          config.socket_directory(), std::move(on_sockets)) {
  if (not_before() > EventLoop::Clock::now())
    log_.info("the daemon before this one was killed: registering once the kubelet has noticed that",
              {{"wait_ms", std::to_string(kForgetting.count())}});
}

EventLoop::Clock::time_point KubeletLink::not_before() const {
  const auto found = directory_->dead_found();
  if (!found || !registers() || *found + kForgetting <= EventLoop::Clock::now()) return {};
  // A kubelet of 1.37 serves the pods API, and has endpoints by their sockets.
  std::error_code error;
  return std::filesystem::exists(config_.pods_api(), error) ? EventLoop::Clock::time_point{}
                                                            : *found + kForgetting;
}

void KubeletLink::record_answer(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  const bool silent = result == kNobodyListens || result == kWentAway;
  if (silent && !silence_told_) log_.warn("kubelet does not answer: retrying", {{"why", why}});
  silence_told_ = silent;
  if (result == kNobodyListens) watcher_.check();
}

void KubeletLink::record_answer(const PodResources::Answer& answer) {
  const bool secret = !answer.list_error.empty();
  if (secret && !secrecy_told_)
    log_.warn("cannot read pod resources from the kubelet: its checkpoint alone says which pods hold devices",
              {{"why", answer.list_error}});
  secrecy_told_ = secret;
}

}  // namespace plughost
