#pragma once
// The kubelet of this node, as every resource shares it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/event_loop.hpp"
#include "config/config.hpp"
#include "kubelet/checkpoint.hpp"
#include "kubelet/plugin_directory.hpp"
#include "kubelet/pod_resources.hpp"
#include "node/platform.hpp"
#include "plugin/registration.hpp"

namespace plughost {

// Which containers hold which devices: the kubelet's word, or else its checkpoint's. Loop thread only.
class HoldingsReader {
 public:
  using Clock = EventLoop::Clock;
  using Done = std::function<void(const PodResources::Answer& answer)>;
  // What is shown again and again, and nobody acts upon, may be as old as this.
  static constexpr std::chrono::seconds kShown{1};

  // All outlive it.
  HoldingsReader(EventLoop& loop, PodResources& pods, CheckpointReader& checkpoint)
      : loop_(loop), pods_(pods), checkpoint_(checkpoint) {}
  HoldingsReader& operator=(HoldingsReader&&) = delete;

  // Who holds what at that time or later; or, if patience is over before that is known, that it is not.
  // nullopt: for as long as the kubelet and then its checkpoint may take. done runs in the loop, maybe at
  // once; never, if this is gone by then.
  void read(Clock::time_point since, Done done,
            std::optional<std::chrono::milliseconds> patience = std::nullopt);
  // Nobody is to be asked any more: those who wait are told that nothing is known.
  void abandon();

 private:
  using Number = std::uint64_t;
  struct Asker {
    Done done;
    std::optional<Timer> patience;
  };

  void read_checkpoint(Number who, Clock::time_point since, const std::string& why_not_told);
  // Nothing is told to one that has been told already.
  void finish(Number who, const PodResources::Answer& answer);

  EventLoop& loop_;
  PodResources& pods_;
  CheckpointReader& checkpoint_;
  std::map<Number, Asker> waiting_;
  Number next_ = 0;
  Lifetime questions_;  // those that are open
};

// What every resource shares: the kubelet of this node, and our directory of sockets. Loop thread only.

// Made anew when the configuration names another kubelet.
class KubeletLink {
 public:
  // on_kubelet: another kubelet, or none. on_sockets: one of our sockets may be gone. Not called from within.
  // former: the link before this one, which may have the same directory; nullptr: there is none. Throws
  // DirectoryHeld, or std::system_error.
  KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
              std::function<void()> on_kubelet, std::function<void()> on_sockets);

  const KubeletConfig& config() const { return config_; }
  bool registers() const { return config_.registration == KubeletConfig::Registration::kRegister; }

  PluginDirectory& directory() { return *directory_; }
  KubeletWatcher& watcher() { return watcher_; }
  RegistrationClient& registration() { return registration_; }
  PodResources& pod_resources() { return pod_resources_; }
  Allocatable& allocatable() { return allocatable_; }
  CheckpointReader& checkpoint() { return checkpoint_; }
  HoldingsReader& holdings() { return holdings_; }
  // Logs once, for all resources, that the kubelet does not answer; looks whether it is another by now.
  void note_answer(RegistrationClient::Result result, const std::string& why);
  // Logs once, for all entries, that the kubelet does not say who holds what.
  void note_answer(const PodResources::Answer& answer);

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
