#pragma once
// Makes what runs equal to a Config; what did not change is not touched. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "supervisor/cdi_directory.hpp"
#include "supervisor/entry.hpp"
#include "supervisor/holders.hpp"
#include "supervisor/node_link.hpp"
#include "supervisor/removals.hpp"
#include "supervisor/status.hpp"

namespace plughost {

class Supervisor {
 public:
  // The one safety net under every event source: kubelet, sockets, watches and devices are looked at again.
  static constexpr std::chrono::seconds kSafetyInterval{60};
  // What systemd waits for (TimeoutStopSec in systemd/plughost.service), less what the rest of a stop takes.
  static constexpr std::chrono::seconds kRemovalLimit{3};

  struct Summary {
    std::size_t resources = 0;
    std::size_t attached = 0;
    bool kubelet = false;
    std::string text() const;
    bool operator==(const Summary&) const = default;
  };

  // on_change is called when summary() may be another. Throws DirectoryHeld, or std::system_error.
  // platform outlives it.
  Supervisor(Platform& platform, Config config, std::function<void()> on_change);
  ~Supervisor();

  // The names of entries, as they stand in the configuration.
  struct Changes {
    std::vector<std::string> added;
    std::vector<std::string> changed;
    std::vector<std::string> removed;
    std::size_t unchanged = 0;
    bool kubelet = false;  // every socket of ours has moved
  };
  // Throws as the constructor does, and then nothing has changed.
  Changes apply(Config config);
  // All resources end, and what onRemove says is run for their devices. done is called later, when that has
  // ended or kRemovalLimit is over; nothing else is to be asked of it by then.
  void stop(std::function<void()> done);
  const Config& config() const { return config_; }
  Summary summary() const;

  // What is now; who holds what is asked of the kubelet first, or read in its checkpoint. done runs in the
  // loop, maybe at once; never, if this is gone by then.
  using StatusDone = std::function<void(std::shared_ptr<const NodeStatus>)>;
  void ask_status(StatusDone done);

 private:
  std::unique_ptr<NodeLink> make_link(const KubeletConfig& config);
  std::shared_ptr<NodeStatus> status() const;
  void add(const ResourceConfig& resource);
  // Its entry ends for good.
  void retire(const std::string& name);
  Entry::Hooks hooks();
  void on_kubelet();
  void on_safety();
  void after_burst();
  void look_for_shared_ids();
  void forget_specifications();
  void tell_neighbours();

  Platform& platform_;
  Config config_;
  std::function<void()> on_change_;
  std::map<std::string, EventLoop::Clock::time_point> ended_;  // when we ended a resource's stream
  std::size_t shared_ids_ = 0;                                 // that were told of
  Removals removals_;
  WallTime kubelet_since_ = std::chrono::system_clock::now();
  Timer safety_;
  Timer sockets_timer_;
  Timer burst_timer_;
  std::unique_ptr<NodeLink> link_;
  // Stays as it is when the daemon ends: containers that are started again meanwhile need what is in it.
  std::unique_ptr<CdiDirectory> cdi_;
  Holders holders_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;  // by the text of the entry's name
};

}  // namespace plughost
