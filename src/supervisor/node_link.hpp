#pragma once
// What every resource shares: the kubelet of this node, and our directory of sockets. Loop thread only.

#include <functional>
#include <optional>

#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/workers.hpp"
#include "config/config.hpp"
#include "host/host_root.hpp"
#include "host/udev_monitor.hpp"
#include "kubelet/kubelet_watcher.hpp"
#include "kubelet/plugin_directory.hpp"
#include "kubelet/pod_resources.hpp"
#include "kubelet/registration.hpp"
#include "supervisor/tallies.hpp"

namespace plughost {

// The machine's side: made once per process. References outlive whoever holds a Platform&.
struct Platform {
  EventLoop& loop;
  Log& log;
  Workers& workers;
  DirWatcher& directories;
  UdevMonitor& devices;
  const HostRoot& host;
  Tallies& tallies;
};

// The kubelet's side: made anew when the configuration names another kubelet.
class NodeLink {
 public:
  // on_kubelet: another kubelet, or none. on_sockets: one of our sockets may be gone. Not called from within.
  // Throws DirectoryHeld, or std::system_error.
  NodeLink(Platform& platform, const KubeletConfig& config, std::function<void()> on_kubelet,
           std::function<void()> on_sockets);

  const KubeletConfig& config() const { return config_; }
  bool registers() const { return config_.registration == KubeletConfig::Registration::kRegister; }

  PluginDirectory& directory() { return directory_; }
  KubeletWatcher& watcher() { return watcher_; }
  RegistrationClient& registration() { return registration_; }
  PodResources& pod_resources() { return pod_resources_; }
  // Logs once, for all resources, that the kubelet does not answer.
  void note_answer(RegistrationClient::Result result, const std::string& why);
  // Logs once, for all entries, that the kubelet does not say who holds what.
  void note_answer(const PodResources::Answer& answer);

 private:
  Log& log_;
  bool silence_told_ = false;
  bool secrecy_told_ = false;
  KubeletConfig config_;
  PluginDirectory directory_;
  RegistrationClient registration_;
  PodResources pod_resources_;
  KubeletWatcher watcher_;
};

}  // namespace plughost
