#pragma once
// The kubelet of this node, as every resource shares it.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "daemon/platform/holdings_reader.hpp"
#include "daemon/platform/platform.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/plugin_directory.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/plugin/registration.hpp"

namespace plughost {

// What every resource shares: the kubelet of this node, and our directory of sockets. Loop thread only.

// Made anew when the configuration names another kubelet.
class KubeletLink {
 public:
  // After a plugin has ended its stream, or was killed, the kubelet needs this long to forget it.
  static constexpr std::chrono::milliseconds kForgetting{500};

  // on_kubelet: another kubelet, or none. on_sockets: one of our sockets may be gone. Not called from within.
  // former: the link before this one, which may have the same directory; nullptr: there is none. Throws
  // DirectoryHeld, or std::system_error.
  KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
              std::function<void()> on_kubelet, std::function<void()> on_sockets);

  const KubeletConfig& config() const { return config_; }
  bool registers() const { return config_.registration == KubeletConfig::Registration::kRegister; }

  // The earliest time for a Register, if the daemon before this one was killed: it has left its sockets. A
  // kubelet up to 1.36 stops endpoints by the resource's name. If it processes the end of the killed daemon's
  // stream after this one has registered, it stops this one's endpoint. The stream stays open then, and the
  // devices may be counted: neither the stream nor pod resources show it.
  EventLoop::Clock::time_point not_before() const;

  PluginDirectory& directory() { return *directory_; }
  KubeletWatcher& watcher() { return watcher_; }
  RegistrationClient& registration() { return registration_; }
  PodResources& pod_resources() { return pod_resources_; }
  Allocatable& allocatable() { return allocatable_; }
  CheckpointReader& checkpoint() { return checkpoint_; }
  HoldingsReader& holdings() { return holdings_; }
  // Logs once, for all resources, that the kubelet does not answer; looks whether it is another by now.
  void record_answer(RegistrationClient::Result result, const std::string& why);
  // Logs once, for all entries, that the kubelet does not say who holds what.
  void record_answer(const PodResources::Answer& answer);

 private:
  Log& log_;
  bool silence_told_ = false;
  bool secrecy_told_ = false;
  KubeletConfig config_;
  std::shared_ptr<PluginDirectory>
      directory_;  // held by one process, but by two links while they change over
  RegistrationClient registration_;
  PodResources pod_resources_;
  Allocatable allocatable_;
  CheckpointReader checkpoint_;
  HoldingsReader holdings_;
  KubeletWatcher watcher_;
};

}  // namespace plughost
