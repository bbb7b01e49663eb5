#pragma once
// Makes what runs equal to a Config; what did not change is not touched. Loop thread only.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "config/config.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/publish/allocatable_check.hpp"
#include "daemon/publish/cdi_places.hpp"
#include "daemon/reload/provisional_config.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/report/node_reporter.hpp"
#include "daemon/status/status.hpp"
#include "daemon/supervisor/resource_controller.hpp"
#include "kubernetes/pods/assuming.hpp"

namespace plughost {

// What entries have to do with each other: who is near whom, which share their cards, and ids that two list.
// Loop thread only.
class ResourceAffinity {
 public:
  // They outlive it.
  ResourceAffinity(Log& log, ResourceControllers& controllers) : log_(log), controllers_(controllers) {}

  // Joins those of these entries that share their cards (see AllocationSpec::same_card): known without a
  // scan, and so from the first list on.
  void join(const std::vector<ResourceConfig>& entries);
  // As the lists are now: see AllocationSpec::near, and what is told of ids that two entries list.
  void update();

 private:
  void publish_neighbours();
  void log_shared_ids();

  Log& log_;
  ResourceControllers& controllers_;
  std::size_t shared_ids_ = 0;                                      // that were told of
  std::map<std::string, std::size_t> card_groups_;                  // see same_card_groups()
  std::map<std::size_t, std::shared_ptr<GivenCards>> given_cards_;  // by the number of the group
};

class Supervisor {
 public:
  // The one safety net under every event source: kubelet, sockets, watches and devices are looked at again.
  static constexpr std::chrono::seconds kSafetyInterval{60};
  // What systemd waits for (TimeoutStopSec=5 in systemd/plughost.service), less what the rest of a stop takes
  // at worst: Programs::kGrace for those that do not end, and Programs::kLast to reap them; 0.2 s for the
  // control socket's calls and as much for the kubelet's; LogWriter::kLastDeadline. That is 4.4 s in all.
  static constexpr std::chrono::seconds kRemovalLimit{2};

  struct Summary {
    std::size_t resources = 0;
    std::size_t attached = 0;
    bool kubelet = false;
    std::string text() const;
    bool operator==(const Summary&) const = default;
  };

  // Reads what is drained, and may block. on_change is called when summary() may be another. Throws
  // DirectoryHeld, or std::system_error. platform outlives it.
  Supervisor(Platform& platform, Config config, const DrainFile& drains, std::function<void()> on_change);
  ~Supervisor();

  // Throws as the constructor does, and then nothing has changed.
  Changes apply(Config config);
  // All resources end, what onRemove says is run for their devices, and what the node shows of them is 0.
  // done is called later, when that has ended or kRemovalLimit is over; nothing else is to be asked of it by
  // then.
  void stop(const std::function<void()>& done);
  const Config& config() const { return config_; }
  // A reload was refused for these.
  void record_refusal(const std::vector<std::string>& errors) { reporter_.record_refusal(errors); }
  Summary summary() const;
  Attachments attachments() const;

  // What is now, without what the process knows. done runs in the loop, maybe at once; never, if this is gone
  // by then.
  using StatusDone = std::function<void(DaemonStatus)>;
  void query_status(WithHolders with, StatusDone done);

  using DrainDone = DrainController::Done;
  void drain(const DrainOrder& order, DrainDone done) { drain_controller_.carry_out(order, std::move(done)); }

 private:
  std::unique_ptr<KubeletLink> make_link(const KubeletConfig& config, const KubeletLink* former);
  AllocatableCheck::Hooks allocatable_hooks();
  DrainController::Hooks drain_hooks();
  Assuming::Context assuming_context();
  KubeletStatus kubelet_status() const;
  DaemonStatus status() const;
  void read_holdings(HoldingsReader::Done done);
  void on_overlay();
  void on_kubelet();
  void on_changed();
  void on_safety();
  void after_burst();

  Platform& platform_;
  Config config_;
  std::function<void()> on_change_;
  WallTime kubelet_since_ = std::chrono::system_clock::now();
  Timer safety_;
  Timer sockets_timer_;
  Timer burst_timer_;
  std::unique_ptr<KubeletLink> link_;
  CdiPlaces cdi_;
  NodeReporter reporter_;
  DrainController drain_controller_;
  AllocatableCheck allocatable_;
  Assuming assuming_;
  HeldDevices held_;
  ResourceControllers controllers_;
  ResourceAffinity affinity_;
};

}  // namespace plughost
